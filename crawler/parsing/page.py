"""A page as it was read: what it says, where it leads, and what it asks of crawlers."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from crawler.parsing.similarity import simhash
from crawler.urls import Url


@dataclass(slots=True)
class Page:
    title: str = ""
    links: list[Url] = field(default_factory=list)  # each once, in page order, without those not to be followed
    bad_links: Counter[str] = field(default_factory=Counter)  # by the reason for dropping them
    is_cut: bool = False  # long beyond reason, or made to harm, and read only up to there
    noindex: bool = False  # it asks not to be kept
    canonical: Url | None = None  # it says that it is a copy of this other page
    charset: str = ""  # that its body is in, as Python calls it
    anchors: list[str] = field(default_factory=list)  # what each of ``links`` is called on this page, in their order
    description: str = ""
    keywords: list[str] = field(default_factory=list)
    headings: list[str] = field(default_factory=list)  # first to third level
    text: str = ""  # what a reader sees, a line for each block
    main_text: str = ""  # the same without navigation, headers and footers
    lang: str = ""  # two letters
    published_at: int = 0  # ms since 1970, as the page states it; 0 if it does not
    modified_at: int = 0
    json_ld: list[dict[str, Any]] = field(default_factory=list)
    open_graph: dict[str, str] = field(default_factory=dict)  # og:, article:, twitter: and their like
    trouble: str = ""  # why there is nothing of it, or not all: for a file that could not be read

    @property
    def simhash(self) -> int:
        """Of the main text: what all pages of a site have in common would make them alike."""
        return simhash(self.main_text or self.text)
