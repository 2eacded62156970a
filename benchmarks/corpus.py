"""Which documents are searched? Made ones, always the same: two words in three by Zipf's law, as in natural language.

A vocabulary of 60,000 made words, the commonest the shortest; each document has a title and about 2 kB of text, and a
third of that is about a topic of its own: words that are rare elsewhere and come several times here, as real ones do.
"""

import random
from collections.abc import Iterator
from itertools import islice

import numpy as np

from crawler.search.document import Document

WORDS = 60_000
TEXT_WORDS = 280
TOPIC_WORDS = 25
HOSTS = 200
FIRST_MS, LAST_MS = 1_672_531_200_000, 1_704_067_200_000  # the year 2023
DESCRIPTION = (
    f"Made documents: {TEXT_WORDS} words (about 2 kB) each of a vocabulary of {WORDS:,}, two in three by Zipf's law "
    f"and one in three of {TOPIC_WORDS} that are the document's own topic, on {HOSTS} hosts."
)
_SYLLABLES = [
    first + rest for first in (*"bcdfgklmnprstv", "st", "tr", "pl", "ch") for rest in (*"aeiou", "ai", "er", "on")
]


class Corpus:
    def __init__(self, documents: int) -> None:
        self.number = documents
        self.vocabulary = _make_words()
        weights = 1 / (np.arange(WORDS) + 2.7) ** 1.05
        self._chances = np.cumsum(weights / weights.sum())

    def documents(self) -> Iterator[Document]:
        for number in range(self.number):
            yield self.document(number)

    def document(self, number: int) -> Document:
        dice = np.random.default_rng(number)
        common = np.searchsorted(self._chances, dice.random(TEXT_WORDS))
        topic = dice.integers(300, WORDS, TOPIC_WORDS)
        places = dice.random(TEXT_WORDS) < 1 / 3
        chosen = np.where(places, topic[dice.integers(0, TOPIC_WORDS, TEXT_WORDS)], common)
        words = [self.vocabulary[place] for place in np.minimum(chosen, WORDS - 1)]
        title = " ".join(self.vocabulary[place] for place in topic[:5]).capitalize()
        host = f"host{number % HOSTS:03d}.example"
        return Document(
            id=f"{number:016x}", url=f"https://{host}/{'/'.join(title.lower().split()[:2])}/{number}", title=title,
            description=" ".join(words[:20]), content=_punctuate(words), host=host, lang="en", crawl="bench",
            fetched_at=int(dice.integers(FIRST_MS, LAST_MS)),
        )  # fmt: skip

    def queries(self, number: int) -> dict[str, list[str]]:
        """Of each class, in this project's grammar. Words are of middling frequency, as those that people type are."""
        dice = random.Random(3)

        def word() -> str:
            return self.vocabulary[int(50 * 1000 ** dice.random())]  # rank 50 to 50,000, evenly by magnitude

        def some(length: int) -> list[str]:
            """Neighbours in a document, so that there is something to find."""
            words = self.document(dice.randrange(self.number)).content.lower().replace(".", "").split()
            at = dice.randrange(len(words) - length)
            return words[at : at + length]

        def misspell(text: str) -> str:
            at = dice.randrange(1, len(text) - 1)
            return text[:at] + dice.choice("aeioulnrst") + text[at + 1 :]

        classes = {
            "one word": word,
            "three words": lambda: " ".join(some(3)),
            "phrase of two": lambda: f'"{" ".join(some(2))}"',
            "prefix*": lambda: f"{max((word() for _ in range(3)), key=len)[:5]}*",
            "fuzzy~": lambda: f"{misspell(max((word() for _ in range(3)), key=len))}~",
            "word site:host": lambda: f"{word()} site:host{dice.randrange(HOSTS):03d}.example",
            "word, newest first": lambda: f"{word()} sort:newest",
        }
        return {name: [make() for _ in range(number)] for name, make in classes.items()}


def _make_words() -> list[str]:
    dice = random.Random(1)
    words: dict[str, None] = {}
    while len(words) < WORDS:
        length = 1 + len(words) ** 0.12 + dice.random()  # frequent words are short
        words["".join(islice((dice.choice(_SYLLABLES) for _ in range(9)), int(length)))] = None
    return list(words)


def _punctuate(words: list[str]) -> str:
    sentences = (" ".join(words[at : at + 14]).capitalize() for at in range(0, len(words), 14))
    return ". ".join(sentences) + "."
