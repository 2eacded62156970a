"""What do robots.txt, pages and sitemaps say to crawlers? Bytes in, answers out: no network, no Redis, no engine.

``answer`` says what an HTTP answer to GET /robots.txt means, ``rules`` whether a URL may be fetched and which line says
so, ``directives`` whether a page may be kept and its links followed, ``sitemaps`` which pages a site names. All of it
is written by strangers, so nothing here raises on bad input, and the time it takes grows with the size of the input
and no faster.
"""
