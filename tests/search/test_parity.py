"""Do the embedded engine and a server find the same, and in the same order? Asked at random, always the same."""

import asyncio
import random
from collections.abc import Callable

from crawler.errors import BadQuery
from crawler.search.document import Document
from crawler.search.grammar import parse
from crawler.search.index import Hits, Index
from crawler.search.opening import IndexConfig, open_index
from crawler.search.query import Query
from tests.search.engine_server import remove_index
from tests.search.pages import T0, page
from tests.search.texts import TEXTS

QUERIES = 150
# What is not the same: servers take an emoji for a word and have other versions of some stemmers; the embedded engine
# folds accents before it looks for forms. Measured: 1, and of 2,500 queries on real pages 20.
MOST_DIFFERENT = 3
FIRST = 3
LEAST_OVERLAP = 0.97  # of the first, on average. Measured: 0.99
NAME = "parity"
SAME_SCORE = 1.0001


def make_documents() -> list[Document]:
    return [
        page(
            f"p{n:02}", lang=lang, title=title, content=text, headings=title if n % 3 == 0 else "",
            anchors=text[:30] if n % 4 == 0 else "", description=text[:50] if n % 5 == 0 else "",
            host=f"{'docs.' if n % 2 else ''}example.{'org' if n % 3 else 'com'}", fetched_at=T0 + n * 7 * 3_600_000,
        )
        for n, (lang, title, text) in enumerate(TEXTS)
    ]  # fmt: skip


def make_queries() -> list[str]:
    dice = random.Random(4)

    def some(number: int) -> list[str]:
        """Neighbours in a text."""
        words = [word.strip('.,;:()"') for word in dice.choice(TEXTS)[2].split()]
        at = dice.randrange(max(len(words) - number, 0) + 1)
        return words[at : at + number]

    def word() -> str:
        return dice.choice([str.lower, str.upper, str.title, str, str])(some(1)[0])

    def misspell(text: str) -> str:
        at = dice.randrange(len(text))
        return text[:at] + dice.choice("aeiou") + text[at + 1 :]

    kinds: list[Callable[[], str]] = [
        word,
        lambda: " ".join(some(2)),
        lambda: " ".join(some(3)),
        lambda: f'"{" ".join(some(dice.choice([2, 3])))}"',
        lambda: f"{word()} -{word()}",
        lambda: f"{word()} OR {word()}",
        lambda: f'({word()} {word()}) OR (-"{" ".join(some(2))}" {word()})',
        lambda: f"{dice.choice(['title', 'content', 'headings', 'anchors'])}:{word()}",
        lambda: f"{misspell(word())}~",
        lambda: f"{word()[: dice.choice([2, 3, 4])]}*",
        lambda: f"*{word()[-3:]}",
        lambda: f"{word()} lang:{dice.choice(['de', 'en', 'fi', 'ru', 'ar'])}",
        lambda: f"{word()} site:{dice.choice(['example.org', 'docs.example.com', 'com'])} after:2026-01-03",
        lambda: f"{word()} sort:{dice.choice(['newest', 'oldest'])}",
    ]
    return [dice.choice(kinds)() for _ in range(QUERIES)]


def test_the_same_is_found_in_the_same_order_on_a_server(tmp_path, opensearch_url):
    async def work() -> tuple[list[str], list[float]]:
        embedded = open_index(IndexConfig.from_url(f"file:{tmp_path / 'index'}"))
        server = open_index(IndexConfig.from_url(f"opensearch+{opensearch_url}/{NAME}"))
        for index in (embedded, server):
            await index.open()
            assert await index.write(make_documents()) == []
            await index.refresh()
        different, overlaps = [], []
        for text in make_queries():
            one, other = await ask(embedded, text), await ask(server, text)
            if one is None or other is None:
                assert one is other, text
                continue
            if one.total != other.total or ids(one) != ids(other):
                different.append(f"{text!r}: {sorted(ids(one) ^ ids(other))}")
            elif one.total:
                overlaps.append(min(overlap(one, other), overlap(other, one)))
        await embedded.close()
        await server.close()
        return different, overlaps

    try:
        different, overlaps = asyncio.run(work())
    finally:
        remove_index(opensearch_url, NAME)
    print(len(different), len(overlaps), sum(overlaps) / len(overlaps), *different, sep="\n")
    assert len(overlaps) > QUERIES // 2
    assert len(different) <= MOST_DIFFERENT, "\n".join(different)
    assert sum(overlaps) / len(overlaps) >= LEAST_OVERLAP


async def ask(index: Index, text: str) -> Hits | None:
    """None: it is no query."""
    try:
        query = parse(text)
    except BadQuery:
        return None
    return await index.search(Query(query.part, query.filters, query.sort, 1, 100))


def ids(hits: Hits) -> set[str]:
    return {hit.document.id for hit in hits.hits}


def overlap(one: Hits, other: Hits) -> float:
    """How many that are surely among the first of one may be among those of the other: where scores are equal, the
    engines have different orders.
    """
    next_best = one.hits[FIRST].score if len(one.hits) > FIRST else -1.0
    last = other.hits[:FIRST][-1].score
    sure = {hit.document.id for hit in one.hits[:FIRST] if hit.score > next_best * SAME_SCORE}
    possible = {hit.document.id for hit in other.hits if hit.score * SAME_SCORE >= last}
    return len(sure & possible) / len(sure) if sure else 1.0
