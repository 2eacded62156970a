"""What would the crawl have indexed of a stored page? The same document, and what the page calls others."""

from typing import NamedTuple

from msgspec.structs import replace

from crawler.backup.pages import PageList
from crawler.backup.similar import SimilarPages
from crawler.pipelines.documents import make_document, read_stored
from crawler.robots.directives import Obedience
from crawler.search.document import Document
from crawler.storage.layout import read_page_key
from crawler.storage.page import Page, page_id


class Reading(NamedTuple):
    document: Document | None  # None: it asks not to be kept, by now
    anchors: list[tuple[str, str]]  # ids of stored pages, and what they are called


class PageReader:
    """``similar`` is None where duplicates are not looked for."""

    def __init__(
        self, pages: PageList, similar: SimilarPages | None, obey: Obedience, *, main_text: bool
    ) -> None:  # fmt: skip
        self._pages = pages
        self._similar = similar
        self._obey = obey
        self._main_text = main_text

    def read(self, page: Page) -> Reading:
        """Blocks. Pages have to come in the order in which they were fetched."""
        info = page.info
        parsed = read_stored(page, self._obey)
        if parsed.noindex:  # unavailable_after a day that has passed, or a setting has changed
            return Reading(None, [])
        links = [(page_id(link.fingerprint), text) for link, text in zip(parsed.links, parsed.anchors, strict=True)]
        canonical = page_id(parsed.canonical.fingerprint) if parsed.canonical else ""
        known = self._pages.known(list({id_ for id_, text in links if text} | {canonical}))
        # The crawl asked whether the original was to be crawled; what can be known now is whether it was kept.
        duplicate_of = canonical if canonical in known else ""
        similar_to = self._similar.look(info.crawl, info.id, parsed.simhash) if self._similar else ""
        if info.same_as:
            original = read_page_key(info.same_as)
            if original is not None and original.id != info.id:
                duplicate_of = original.id
            similar_to = ""  # the same is more than similar
        document = make_document(info, parsed, duplicate_of=duplicate_of, main_text=self._main_text)
        anchors = [(id_, text) for id_, text in links if text and id_ in known and id_ != info.id]
        return Reading(replace(document, similar_to=similar_to), anchors)
