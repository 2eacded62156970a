"""Puts pages into a store until it is killed, and says after each batch what is safe. A program of its own.

``python -m tests.storage.putting FORMAT PLACE DATA_DIR``; PLACE is a directory, or JSON of an S3Place.
"""

import asyncio
import json
import sys
from pathlib import Path

from crawler.storage.s3_place import S3Place
from tests.storage.stores import configure, make_page, opened

BATCH = 7


def numbered(number: int) -> bytes:
    return b"page %d " % number * (number * 7919 % 5000)


async def put_on_and_on(format_: str, place: str, data_dir: str) -> None:
    where = S3Place(**json.loads(place)) if place.startswith("{") else Path(place)
    async with opened(configure(where, Path(data_dir), format=format_)) as store:
        number = 0
        while True:
            batch = [make_page(f"https://a.example/{n}", numbered(n)) for n in range(number, number + BATCH)]
            await store.put(batch)
            number += BATCH
            print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(put_on_and_on(*sys.argv[1:]))
