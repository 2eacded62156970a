"""How much does it count where a word stands? The same numbers in every engine, so that they agree on the order."""

from crawler.errors import BadQuery

# A word is scored by BM25 in each field; the best field counts in full, the others by TIE_BREAKER.
FIELD_WEIGHTS = {
    "title": 6.0,
    "anchors": 3.0,  # what others call the page is seldom wrong
    "headings": 3.0,
    "keywords": 1.5,
    "description": 1.5,
    "url": 1.5,
    "content": 1.0,
}
TIE_BREAKER = 0.3
STEM_SHARE = 0.8  # of the weight of a field, when only the stem is the same
VARIANT_SHARE = 0.5  # likewise when the word is only similar; such matches have no BM25, but a constant score
# On top, when the words of a query stand together and in order.
TOGETHER_WEIGHTS = {"title": 4.0, "headings": 2.5, "anchors": 2.0, "content": 1.0}
TOGETHER_SLOP = 2  # words in the text may have so many between them; in titles and headings one
MOST_TOGETHER = 12  # words that are looked for side by side
JOINED = ("title", "anchors")  # where two words may also be written as one

# Stems of these are indexed beside the words, so that "crawling" finds "crawl"; a page of no known language is taken
# for English, as most of those are.
STEMMED_FIELDS = ("title", "headings", "anchors", "content")
DEFAULT_LANGUAGE = "en"

SHORTEST_FUZZY = 3  # letters: everything is near to a shorter word
LONGEST_FUZZY_BY_ONE = 5  # longer words may differ by two


def weigh(field: str) -> dict[str, float]:
    """The fields that are asked: one that was named, or all."""
    if not field:
        return FIELD_WEIGHTS
    if field not in FIELD_WEIGHTS:
        raise BadQuery(f"{field!r} is no field that can be searched; these are: {', '.join(FIELD_WEIGHTS)}")
    return {field: FIELD_WEIGHTS[field]}


def fuzzy_distance(word: str) -> int:
    """By how many letters a word may differ that is nearly this one."""
    if len(word) < SHORTEST_FUZZY:
        return 0
    return 1 if len(word) <= LONGEST_FUZZY_BY_ONE else 2
