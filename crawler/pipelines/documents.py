"""What is indexed of a parsed page? The same whether it comes from the network or, when the index is rebuilt, from the
store.
"""

from crawler.parsing import Page as ParsedPage
from crawler.parsing import parse
from crawler.robots.directives import Obedience
from crawler.search.document import Document
from crawler.storage.page import Page, PageInfo
from crawler.urls import canonicalise


def make_document(info: PageInfo, parsed: ParsedPage, *, duplicate_of: str = "", main_text: bool = False) -> Document:
    return Document(
        id=info.id,
        url=info.url,
        title=parsed.title,
        description=parsed.description,
        keywords=parsed.keywords,
        headings="\n".join(parsed.headings),
        content=(main_text and parsed.main_text) or parsed.text,
        host=canonicalise(info.url).host,
        lang=parsed.lang,
        depth=info.depth,
        status=info.status,
        fetched_at=info.fetched_at,
        published_at=parsed.published_at,
        content_hash=info.sha256,
        simhash=parsed.simhash,
        duplicate_of=duplicate_of,
        html_key=info.same_as or info.key,
        crawl=info.crawl,
    )


def read_stored(page: Page, obey: Obedience) -> ParsedPage:
    """As the spider read it, except for what headers said that are not kept: only WARC files have them all."""
    headers = {name.lower(): value for name, value in page.info.headers.items()}
    robots = headers.get("x-robots-tag", "")
    return parse(
        page.body,
        page.info.url,
        page.info.content_type,
        [robots] if robots else [],
        obey,
        content_language=headers.get("content-language", ""),
    )
