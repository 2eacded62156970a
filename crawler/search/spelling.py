"""Which word was meant? One that is near to what was typed, and much commoner. Any engine can ask."""

from collections.abc import Mapping

from crawler.search.ranking import fuzzy_distance

SHORTEST_WORD = 4  # below that, everything is near to everything
LONGEST_WORD = 40
MUCH_COMMONER = 10  # a word of the index is only put aside for one that is so many times commoner, and one letter away
ALPHABETS = ("abcdefghijklmnopqrstuvwxyz0123456789", "абвгдежзийклмнопрстуфхцчшщъыьэюя", "αβγδεζηθικλμνξοπρστυφχψω")


def edits(word: str) -> set[str]:
    """Everything that is one insertion, deletion, replacement or transposition away: about 600 for a word of eight."""
    if not SHORTEST_WORD <= len(word) <= LONGEST_WORD:
        return set()
    letters = next((alphabet for alphabet in ALPHABETS if any(letter in alphabet[:26] for letter in word)), "")
    splits = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    near = {head + tail[1:] for head, tail in splits if tail}
    near |= {head + tail[1] + tail[0] + tail[2:] for head, tail in splits if len(tail) > 1}
    near |= {head + letter + tail[1:] for head, tail in splits if tail for letter in letters}
    near |= {head + letter + tail for head, tail in splits for letter in letters}
    return near - {word}


def best_correction(word: str, own: int, known: Mapping[str, int]) -> str:
    """``known``: words of the index → in how many documents; ``own``: the same of the word itself."""
    if not SHORTEST_WORD <= len(word) <= LONGEST_WORD:
        return ""
    most = 1 if own else fuzzy_distance(word)
    best, best_rank = "", (0.0, "")
    for other, number in known.items():
        if other == word or number <= own * MUCH_COMMONER or not number or abs(len(other) - len(word)) > most:
            continue
        far = distance(word, other, most)
        if far <= most:
            # A letter more is a hundred times less likely to be meant, the first letter is seldom wrong.
            rank = (number / 100.0**far * (2 if other[0] == word[0] else 1), other)
            if rank > best_rank:
                best, best_rank = other, rank
    return best


def distance(one: str, other: str, most: int) -> int:
    """Damerau-Levenshtein, given up as soon as it is more than ``most``."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        previous, row = row, [i]
        for j, opposite in enumerate(other, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (letter != opposite))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == opposite:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most and (i < 2 or min(previous) > most):
            return most + 1
        before = previous
    return row[-1]
