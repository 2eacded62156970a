"""What is indexed of a parsed page? The same whether it comes from the network or, when the index is rebuilt, from the
store.
"""

from crawler.parsing import Page as ParsedPage
from crawler.search.document import Document
from crawler.storage.page import PageInfo
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
