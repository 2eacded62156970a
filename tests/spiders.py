"""Small spiders of the tests: links by a regular expression, so that a test of the frontier is not one of the parser.

Workers find them with ``-s SPIDER_MODULES=tests.spiders``.
"""

import os
import re
from collections.abc import AsyncIterator, Iterator

from scrapy import Request, Spider
from scrapy.http import Response

LINK = re.compile(r'href="([^"]+)"')


class PlainSpider(Spider):
    """Yields a Request for every link."""

    name = "plain"

    async def start(self) -> AsyncIterator[Request]:
        for url in os.environ.get("TEST_SEEDS", "").split():
            yield Request(url)

    def parse(self, response: Response) -> Iterator[Request]:
        for link in LINK.findall(response.text):
            yield response.follow(link)
