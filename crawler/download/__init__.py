"""How does a page get here? An HTTP client in place of Scrapy's own, for which every server is hostile.

::

    handler.py      what Scrapy calls: one request in, one response or one of Scrapy's exceptions out
    connector.py    connections: the last look at an address, caps on headers, the time to the first byte
    resolver.py     names to addresses, each of them checked
    reading.py      a body, as it comes in: how large, how slow, how encoded
    decoding.py     gzip, deflate, br, zstd in bounded steps
    failures.py     what aiohttp raised, in Scrapy's words
    errors.py       what else can go wrong, each with the reason that the frontier records
    config.py       the settings of all that

Which addresses may be connected to is said in ``crawler/addresses.py``. Redirects, retries and robots.txt are the
middlewares' business; cookies are nobody's.
"""
