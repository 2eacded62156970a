"""What does the broad spider yield? A dictionary, as any item, for exports and for pipelines of users; and beside it
what our own pipelines need of the page, which no exporter could write.
"""

from typing import Any

from scrapy.http import Response

from crawler.parsing import Page


class PageItem(dict[str, Any]):
    def __init__(self, fields: dict[str, Any], response: Response, page: Page, anchors: list[tuple[int, str]]) -> None:
        super().__init__(fields)
        self.response = response
        self.page = page
        self.anchors = anchors  # fingerprints of links that are new, and what they are called
