"""How much does it count where a word stands? The same numbers in every engine, so that they agree on the order."""

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
# On top, when the words of a query stand together and in order.
TOGETHER_WEIGHTS = {"title": 4.0, "headings": 2.5, "anchors": 2.0, "content": 1.0}

# Stems of these are indexed beside the words, so that "crawling" finds "crawl"; a page of no known language is taken
# for English, as most of those are.
STEMMED_FIELDS = ("title", "headings", "anchors", "content")
DEFAULT_LANGUAGE = "en"

LONGEST_FUZZY_BY_ONE = 5  # letters: longer words may differ by two


def fuzzy_distance(word: str) -> int:
    return 1 if len(word) <= LONGEST_FUZZY_BY_ONE else 2
