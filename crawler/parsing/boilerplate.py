"""Which lines of a page are what it is about, and which are on every page of its site?

By what the page says itself (``main``, ``nav``, …) and, where it does not say, by how the lines look: what is long and
has few links is content, what is mostly links is not, and what is short goes with what is beside it (after boilerpipe
and jusText). Costs 0.05 ms, where a library that looks more closely takes 80.
"""

from selectolax.lexbor import LexborHTMLParser

from crawler.parsing.elements import Zone
from crawler.parsing.text import Text, read_text

_LONG_BYTES = 80  # a sentence; bytes, because a Chinese one has fewer characters
_MOSTLY_LINKS = 0.5
_ALL_LINKS = 0.9
_NEAR_LINES = 4  # so far does a long line reach
_FEWEST_CHARACTERS = 200  # less than this, and a fifth of the page, cannot be what it is about
_SMALLEST_SHARE = 0.2


def main_text(tree: LexborHTMLParser) -> str:
    body = tree.body
    return choose_main(read_text(body.html or "")) if body else ""


def choose_main(text: Text) -> str:
    """Of a text as ``read_text`` has it. All of the text, when no part of it can be said to be the main one."""
    candidates = [at for at, zone in enumerate(text.zones) if zone is Zone.CONTENT]
    if not _is_enough(text, candidates):
        candidates = [at for at, zone in enumerate(text.zones) if zone < Zone.HEADER]
    chosen = _choose_lines(text, candidates)
    if not _is_enough(text, chosen):
        chosen = candidates or list(range(len(text.lines)))
    return "\n".join([text.lines[at] for at in chosen])


def _is_enough(text: Text, chosen: list[int]) -> bool:
    length = sum([len(text.lines[at]) for at in chosen])
    return length >= _FEWEST_CHARACTERS or length >= _SMALLEST_SHARE * sum(map(len, text.lines)) > 0


def _choose_lines(text: Text, candidates: list[int]) -> list[int]:
    lines, link_lengths, zones, heading_lines = text.lines, text.link_lengths, text.zones, text.heading_lines
    chosen: list[int] = []
    waiting: list[int] = []  # short lines that go with a long one, if there is one near
    last_long = -_NEAR_LINES
    for at in candidates:
        line = lines[at]
        is_content = zones[at] is Zone.CONTENT  # as the page says, so that only lists of links are left out
        if at in heading_lines:
            (chosen if is_content else waiting).append(at)
        elif link_lengths[at] >= (_ALL_LINKS if is_content else _MOSTLY_LINKS) * len(line):
            waiting.clear()
            last_long = -_NEAR_LINES
        elif is_content or (len(line) if line.isascii() else len(line.encode())) >= _LONG_BYTES:
            chosen.extend(waiting[-_NEAR_LINES:])
            waiting.clear()
            chosen.append(at)
            last_long = at
        elif at - last_long <= _NEAR_LINES:
            chosen.extend(waiting)
            waiting.clear()
            chosen.append(at)
        else:
            waiting.append(at)
    return chosen
