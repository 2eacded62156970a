"""What was asked for, as a tree. ``grammar.py`` makes it of text; each engine makes its own query of it."""

from dataclasses import dataclass, field
from typing import Literal

from crawler.errors import BadQuery

DEEPEST_RESULT = 10_000  # engines collect all results before the page that is wanted; servers refuse more
FIELDS = ("title", "description", "keywords", "headings", "content", "anchors", "url")  # that may be named: title:word


@dataclass(frozen=True, slots=True)
class Word:
    """Letters and digits only, in the case they were typed in: ``read_csv`` comes as a Phrase of two. A wildcard has
    its ``*`` and ``?`` in the text, a prefix has lost its star, a fuzzy word its tilde.
    """

    text: str
    field: str = ""  # all fields
    kind: Literal["exact", "fuzzy", "prefix", "wildcard"] = "exact"


@dataclass(frozen=True, slots=True)
class Phrase:
    words: tuple[str, ...]
    field: str = ""


@dataclass(frozen=True, slots=True)
class Not:
    part: "Part"


@dataclass(frozen=True, slots=True)
class AnyOf:
    parts: tuple["Part", ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    parts: tuple["Part", ...]


Part = Word | Phrase | Not | AnyOf | AllOf


@dataclass(frozen=True, slots=True)
class Filters:
    hosts: tuple[str, ...] = ()  # a host and those below it
    not_hosts: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    crawl: str = ""
    after_ms: int | None = None  # of the fetch; inclusive
    before_ms: int | None = None  # exclusive


@dataclass(frozen=True, slots=True)
class Query:
    part: Part | None  # None: everything that passes the filters
    filters: Filters = field(default_factory=Filters)
    sort: Literal["relevance", "newest", "oldest"] = "relevance"
    page: int = 1
    per_page: int = 10
    with_duplicates: bool = False  # pages whose body is that of another are left out otherwise

    def count_before(self) -> int:
        """The results before its page. Raises BadQuery."""
        if self.page < 1 or self.per_page < 1 or self.page * self.per_page > DEEPEST_RESULT:
            raise BadQuery(
                f"page {self.page} of {self.per_page} results each is outside the first {DEEPEST_RESULT} results; "
                "narrow the search instead"
            )
        return (self.page - 1) * self.per_page
