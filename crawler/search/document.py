"""What is indexed of a page. The id is that of the URL, the version is the time of its fetch."""

import msgspec


class Document(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    url: str
    title: str = ""
    description: str = ""
    keywords: list[str] = []
    headings: str = ""
    content: str = ""  # visible text
    anchors: str = ""  # what links that lead here are called
    host: str = ""
    lang: str = ""  # two letters, or none
    depth: int = 0
    status: int = 200
    fetched_at: int = 0  # ms since 1970: a late write never overwrites a newer page
    published_at: int = 0  # ms, as the page states it; 0 if it does not
    content_hash: str = ""  # sha256 of the body, hex
    simhash: int = 0  # of the text, 64 bits unsigned; 0 when there is too little of it
    duplicate_of: str = ""  # the id of a page with the same body
    similar_to: str = ""  # the id of a page with nearly the same text
    html_key: str = ""  # where the body is in the store
    crawl: str = ""
