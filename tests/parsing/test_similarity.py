"""Do near copies have nearly the same simhash, and different pages not, even of one site?"""

import random
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crawler.parsing import NEAR_BITS, hamming, parse_page, simhash
from crawler.parsing.similarity import FEWEST_WORDS, MAX_CHARACTERS

URL = "https://example.com/"
DOCUMENTATION = [Path("/usr/share/doc/git/html"), Path("/usr/share/doc/python3.11/html/library")]
SYLLABLES = [
    "ba",
    "de",
    "fi",
    "go",
    "lu",
    "ma",
    "ne",
    "pi",
    "ro",
    "su",
    "ta",
    "ve",
    "xi",
    "zo",
    "ka",
    "le",
    "mi",
    "nu",
    "po",
    "ra",
]


def make_words(count: int, seed: int) -> list[str]:
    """As in a language: a few words often, most of them seldom."""
    rng = random.Random(seed)
    vocabulary = ["".join(rng.choices(SYLLABLES, k=rng.randint(1, 4))) for _ in range(2000)]
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    return rng.choices(vocabulary, weights, k=count)


def share_near(distances: list[int]) -> float:
    return sum(distance <= NEAR_BITS for distance in distances) / len(distances)


@pytest.mark.parametrize(("count", "least"), [(150, 0.8), (500, 0.98), (3000, 1.0)])
def test_a_changed_word_makes_a_near_copy(count, least):
    distances = []
    for seed in range(100):
        words = make_words(count, seed)
        changed = list(words)
        changed[seed * count // 100] = "changed"
        distances.append(hamming(simhash(" ".join(words)), simhash(" ".join(changed))))
    assert share_near(distances) >= least


@pytest.mark.parametrize(("count", "least"), [(300, 0.85), (1000, 0.98)])
def test_a_changed_date_makes_a_near_copy(count, least):
    distances = []
    for seed in range(100):
        text = " ".join(make_words(count, seed))
        first, second = (f"{text}\nLast updated on {date}." for date in ("12 May 2024, 10:22", "3 June 2025, 09:15"))
        distances.append(hamming(simhash(first), simhash(second)))
    assert share_near(distances) >= least


def test_texts_of_one_language_are_not_copies():
    hashes = [simhash(" ".join(make_words(300, seed))) for seed in range(150)]
    assert min(hamming(a, b) for a, b in combinations(hashes, 2)) > 2 * NEAR_BITS


def test_pages_of_one_site_with_the_same_menu_are_not_copies():
    menu = "".join(f"<li><a href=/{i}>{' '.join(make_words(3, i))}</a></li>" for i in range(200))
    hashes = []
    for seed in range(40):
        story = "".join(f"<p>{' '.join(make_words(30, 100 * seed + part))}.</p>" for part in range(3))
        html = f"<ul>{menu}</ul><h1>Page</h1>{story}<footer>{' '.join(make_words(100, 9999))}</footer>"
        hashes.append(parse_page(html.encode(), URL).simhash)
    assert min(hamming(a, b) for a, b in combinations(hashes, 2)) > 2 * NEAR_BITS


def test_the_same_story_under_another_menu_is_a_near_copy():
    story = "".join(f"<p>{' '.join(make_words(60, part))}.</p>" for part in range(8))
    pages = [
        parse_page(f"<nav>{' '.join(make_words(50, seed))}</nav><article>{story}</article>".encode(), URL)
        for seed in (1, 2)
    ]
    assert pages[0].text != pages[1].text
    assert hamming(pages[0].simhash, pages[1].simhash) <= NEAR_BITS


@pytest.mark.parametrize("folder", DOCUMENTATION, ids=lambda folder: folder.parts[4])
def test_pages_of_real_documentation_are_not_copies(folder):
    files = sorted(folder.glob("*.html"))[:150]
    if not files:
        pytest.skip(f"{folder} is not there: apt install git-doc python3.11-doc")
    hashes = {path.name: parse_page(path.read_bytes(), URL).simhash for path in files if not path.is_symlink()}
    hashes = {name: one for name, one in hashes.items() if one}
    near = [pair for pair in combinations(hashes, 2) if hamming(hashes[pair[0]], hashes[pair[1]]) <= NEAR_BITS]
    assert len(hashes) > 50
    assert near == []


def test_case_spaces_and_punctuation_do_not_count():
    words = make_words(100, 1)
    plain = simhash(" ".join(words))
    assert simhash(", ".join(words).upper() + "!\n") == plain
    assert simhash("\n\t".join(words)) == plain


def test_words_count_in_their_order():
    words = make_words(100, 1)
    assert hamming(simhash(" ".join(words)), simhash(" ".join(sorted(words)))) > 2 * NEAR_BITS


def test_scripts_without_spaces():
    rng = random.Random(1)
    signs = [chr(rng.randrange(0x4E00, 0x5000)) for _ in range(300)]
    changed = [*signs[:150], "蜘", *signs[151:]]
    assert simhash("".join(signs[: FEWEST_WORDS - 1])) == 0
    assert hamming(simhash("".join(signs)), simhash("".join(changed))) <= NEAR_BITS
    assert hamming(simhash("".join(signs)), simhash("".join(reversed(signs)))) > 2 * NEAR_BITS


@pytest.mark.parametrize("text", ["", "word", " ", "…!?", "word " * (FEWEST_WORDS - 1), "x" * 100_000])
def test_too_little_text_has_no_simhash(text):
    assert simhash(text) == 0
    assert parse_page(text.encode(), URL).simhash == 0


def test_a_text_that_says_one_thing_over_and_over_has_one():
    assert simhash("word " * 1000) != 0


def test_it_is_the_same_in_every_process_and_version():
    """Stored in indexes: a change of the method must be a decision."""
    assert simhash(" ".join(f"word{i}" for i in range(100))) == KNOWN


KNOWN = 16638895899167762960


@given(st.text())
@example("\ud800" * 100)
@example("a" * MAX_CHARACTERS + "é b" * 1000)
@example("日" * 1000 + "a" + "\x00" * 50)
def test_every_text_gives_64_bits(text):
    for one in (text, text * 50):
        assert 0 <= simhash(one) < 1 << 64


def test_hamming():
    assert hamming(0, (1 << 64) - 1) == 64
    assert hamming(0b1011, 0b0010) == 2
    assert hamming(7, 7) == 0
