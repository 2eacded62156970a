"""A small encyclopedia of orb weavers, for ``scrapy demo``: a web to crawl on a machine that has no network.

`content` holds what is known, `pages` writes the HTML, `site` serves it on three loopback hosts.
"""
