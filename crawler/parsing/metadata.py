"""What does a page say about itself in meta elements? Its description, keywords, and what it offers to social networks
(OpenGraph and its like).
"""

from collections.abc import Iterable

from crawler.parsing.page import Page
from crawler.parsing.text import strip_invisible

MAX_DESCRIPTION_LENGTH = 2000
MAX_KEYWORDS = 50
MAX_KEYWORD_LENGTH = 100
MAX_OPEN_GRAPH = 100
MAX_OPEN_GRAPH_LENGTH = 2000
_OPEN_GRAPH = ("og:", "article:", "twitter:", "book:", "profile:", "product:", "video:", "music:", "fb:")
_DESCRIPTIONS = ("description", "og:description", "twitter:description", "dc.description", "dcterms.description")
_SEPARATORS = str.maketrans(";，、；\n", ",,,,,")


def add_metadata(page: Page, metas: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Answers the first value of each name, for those who look for other names in it."""
    values: dict[str, str] = {}
    for name, content in metas:
        if name not in values:
            values[name] = content
            if name.startswith(_OPEN_GRAPH) and len(page.open_graph) < MAX_OPEN_GRAPH:
                page.open_graph[name[:MAX_KEYWORD_LENGTH]] = _tidy(content, MAX_OPEN_GRAPH_LENGTH)
    for name in _DESCRIPTIONS:
        if description := _tidy(values.get(name, ""), MAX_DESCRIPTION_LENGTH):
            page.description = description
            break
    page.keywords = _read_keywords(values.get("keywords", ""))
    return values


def _read_keywords(content: str) -> list[str]:
    """Each once. People separate them by all kinds of commas."""
    most = MAX_KEYWORDS * MAX_KEYWORD_LENGTH
    words = [_tidy(word, MAX_KEYWORD_LENGTH) for word in content[:most].translate(_SEPARATORS).split(",")]
    return list(dict.fromkeys(filter(None, words)))[:MAX_KEYWORDS]


def _tidy(text: str, length: int) -> str:
    # Cut first: a value may be as long as the page.
    return " ".join(strip_invisible(text[: 4 * length]).split())[:length].rstrip()
