"""Makes a backup that never ends: after some parts it waits to be killed. A program of its own.

``python -m tests.backup.endless STORE DATA_DIR DOCUMENTS``; STORE is a directory, or JSON of an S3Place.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from crawler.backup.backup import make_backup
from crawler.backup.progress import Progress
from crawler.search.document import Document
from crawler.storage.s3_place import S3Place
from tests.backup.keeping import make_documents, opened_index
from tests.storage.stores import configure, opened


async def main(place: str, data_dir: str, number: str) -> None:
    where = S3Place(**json.loads(place)) if place.startswith("{") else Path(place)
    async with opened_index(Path(data_dir) / "index") as index, opened(configure(where, Path(data_dir))) as store:
        await index.write(make_documents(int(number)))
        read = index.documents

        async def stop_before_the_end() -> AsyncIterator[Document]:
            async for document in read():
                yield document
            print("waiting", flush=True)
            await asyncio.sleep(600)

        index.documents = stop_before_the_end  # type: ignore[method-assign]
        await make_backup(index, store, Progress(), part_bytes=1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
