"""What does a response say? ``parse`` reads it by its type; ``parse_page`` is for those who know that it is HTML.

html.py         a page of HTML, from bytes to a Page
page.py         what is known of a page that was read
kinds.py        which of the readers fits a response
xml.py          feeds and other XML (markup.py finds their tags, feeds.py what a feed says)
plain.py        plain text
pdf.py          PDF, read by another process (pdf_reader.py)

charset.py      which characters the bytes mean
nesting.py      which tags of a page are too many for a tree of it (tags.py finds them)
open_elements.py, formatting.py      what is open at a tag, and what formatting costs that is left open
links.py        links, wishes, meta elements: found by one selector
text.py         visible text, headings, anchors (elements.py says what each element does)
boilerplate.py  the text without menus, headers and footers
metadata.py, json_ld.py, dates.py    what a page says about itself
language.py     which language it is in (languages.py holds the words)
similarity.py   simhash: whether two texts are nearly the same
"""

from crawler.parsing.boilerplate import main_text
from crawler.parsing.html import MAX_TITLE_LENGTH, OBEY_ALL, parse_page
from crawler.parsing.kinds import find_kind, parse
from crawler.parsing.links import MAX_LINKS, NOFOLLOW, TOO_MANY_LINKS
from crawler.parsing.nesting import MAX_NESTING
from crawler.parsing.page import Page
from crawler.parsing.pdf import parse_pdf
from crawler.parsing.plain import parse_plain
from crawler.parsing.similarity import NEAR_BITS, hamming, simhash
from crawler.parsing.xml import parse_xml

__all__ = [
    "MAX_LINKS",
    "MAX_NESTING",
    "MAX_TITLE_LENGTH",
    "NEAR_BITS",
    "NOFOLLOW",
    "OBEY_ALL",
    "TOO_MANY_LINKS",
    "Page",
    "find_kind",
    "hamming",
    "main_text",
    "parse",
    "parse_page",
    "parse_pdf",
    "parse_plain",
    "parse_xml",
    "simhash",
]
