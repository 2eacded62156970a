"""Has this crawl already a page with this body, or nearly this text? Asked for many pages at a time, before they are
kept.

Of equal bodies (sha256) one is kept and the others link to it; similar texts (simhash) are all kept, and say of whom
they are. The lists are in Redis, so that all workers of a crawl agree.
"""

import zlib
from collections.abc import Sequence
from typing import NamedTuple

from crawler.frontier.connection import load_script
from crawler.frontier.frontier import Frontier

CLAIM_SECONDS = 60.0  # for keeping a page; then another with the same body may be kept instead
BODY_BUCKETS = 65536  # Redis holds a hash of up to 128 short fields in one block
QUARTERS = 4
LIST_PAGES = 64
MOST_BITS = 3


class Fingerprint(NamedTuple):
    id: int  # of the page, 64 bits unsigned
    day: int  # of the fetch, since 1970
    sha256: bytes
    simhash: int  # 64 bits unsigned; 0 if there is too little text

    @property
    def page(self) -> bytes:
        return self.id.to_bytes(8, "big") + self.day.to_bytes(4, "big")


class Found(NamedTuple):
    same: tuple[int, int] | None = None  # id and day of the page that has this body already
    similar: int | None = None  # id of a page with nearly this text
    is_claimed: bool = False  # it has to be confirmed with ``keep`` once it is kept
    is_claimed_again: bool = False  # by the page that had claimed it: perhaps it was kept, by a worker that died then


class Duplicates:
    def __init__(self, frontier: Frontier, store: str = "") -> None:
        """``store`` is where bodies are kept: what lies in another one cannot be linked to."""
        self._frontier = frontier
        self._store = f"{zlib.crc32(store.encode()):08x}"

    async def look(self, pages: Sequence[Fingerprint]) -> list[Found]:
        bodies = await self._bodies("claim", pages)
        similar = await self._similar([page for page in pages if page.simhash])
        return [
            Found(
                (int.from_bytes(body[:8], "big"), int.from_bytes(body[8:], "big")) if len(body) == 12 else None,
                similar.get(page.id),
                is_claimed=body in (b"", b"?"),
                is_claimed_again=body == b"?",
            )
            for page, body in zip(pages, bodies, strict=True)
        ]

    async def keep(self, pages: Sequence[Fingerprint]) -> None:
        await self._bodies("keep", pages)

    async def _bodies(self, act: str, pages: Sequence[Fingerprint]) -> list[bytes]:
        keys = self._frontier.keys
        answers = [b""] * len(pages)
        by_partition: dict[int, list[int]] = {}
        for at, page in enumerate(pages):
            by_partition.setdefault(int.from_bytes(page.sha256[:4], "big") % keys.partitions, []).append(at)
        for partition, places in by_partition.items():
            arguments: list[bytes | str | int] = [keys.crawl, act, int(CLAIM_SECONDS * 1000)]
            for at in places:
                sha256 = pages[at].sha256
                bucket = f"{self._store}:{int.from_bytes(sha256[4:8], 'big') % BODY_BUCKETS}"
                arguments += [bucket, sha256[:12], pages[at].page]
            found = await self._frontier.connection.run(load_script("bodies"), keys.tag(partition), arguments)
            for at, body in zip(places, found, strict=act == "claim"):
                answers[at] = body
        return answers

    async def _similar(self, pages: Sequence[Fingerprint]) -> dict[int, int]:
        keys = self._frontier.keys
        by_partition: dict[int, list[bytes | str | int]] = {}
        asked: dict[int, list[int]] = {}
        for page in pages:
            for quarter in range(QUARTERS):
                value = page.simhash >> (16 * quarter) & 0xFFFF
                partition = (quarter * 65536 + value) % keys.partitions
                arguments = by_partition.setdefault(partition, [keys.crawl, LIST_PAGES, MOST_BITS])
                arguments += [f"{quarter}:{value}", page.simhash.to_bytes(8, "big"), page.id.to_bytes(8, "big")]
                asked.setdefault(partition, []).append(page.id)
        similar: dict[int, int] = {}
        for partition, arguments in by_partition.items():
            found = await self._frontier.connection.run(load_script("similar"), keys.tag(partition), arguments)
            for id_, other in zip(asked[partition], found, strict=True):
                if other:
                    similar.setdefault(id_, int.from_bytes(other, "big"))
        return similar
