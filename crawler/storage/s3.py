"""How are files kept on S3, or on a server that speaks it? By obstore: an eighth of boto3's CPU time a put.

Everything is encrypted by the server (AES256) and sent with a SHA-256 that the server checks. Few retries, for a few
seconds: whoever puts pages has a spool. A put whose answer was lost is told from a rival's by a mark of its own.
"""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import obstore
from obstore.auth.boto3 import Boto3CredentialProvider
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import S3Store as Client

from crawler.errors import Damaged, EngineError, EngineRefused
from crawler.storage.bucket import check_bucket, open_session
from crawler.storage.objects import Blob, Kept
from crawler.storage.s3_errors import explain
from crawler.storage.s3_place import S3Place

if TYPE_CHECKING:
    from obstore import PutMode

MULTIPART_BYTES = 16 * 1024 * 1024  # larger ones go in parts, of which one that failed is sent again alone
PART_BYTES = 8 * 1024 * 1024
PARTS_AT_ONCE = 4
LIST_AT_ONCE = 1000
SILENCE_SECONDS = 10.0  # then the server is away
MOST_SECONDS = 300.0  # for a request and its answer
# The client counts silence from when it begins to send. What is larger than this may be silent all the time: the four
# parts of a WARC file that are sent at once take half a minute at 8 Mbit/s.
LARGE_BYTES = 128 * 1024
MARK = "writer"  # the metadata that says which call wrote an object
PROBE = "write-check"
# boto3 renews the keys of a role at the latest 10 minutes before they expire: it has to be asked as often.
KEYS_KEPT = timedelta(minutes=10)

_T = TypeVar("_T")


class S3Objects:
    def __init__(self, place: S3Place, *, at_once: int) -> None:
        self.place = place
        self._at_once = asyncio.Semaphore(at_once)
        self._clients: dict[bool, Client] = {}  # and whether it is the one for what is large

    async def open(self) -> None:
        await asyncio.to_thread(lambda: check_bucket(open_session(self.place), self.place))
        await self.replace(Blob(PROBE, b"this bucket can be written to\n", "text/plain"))

    async def create(self, blobs: Sequence[Blob]) -> list[bool]:
        results = await asyncio.gather(*(self._create(blob) for blob in blobs), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return [result is True for result in results]

    async def replace(self, blob: Blob, version: str = "") -> bool:
        mode: PutMode = {"e_tag": version} if version and len(blob.data) <= MULTIPART_BYTES else "overwrite"
        try:
            await self._put(blob, mode)
        except (PreconditionError, FileNotFoundError):
            return False
        return True

    async def read(self, key: str, limit_bytes: int, *, start: int = 0, whole: bool = True) -> Kept | None:
        async def read(client: Client) -> Kept:
            options: Any = {} if whole and not start else {"options": {"range": (start, start + limit_bytes)}}
            try:
                found = await obstore.get_async(client, key, **options)
            except BaseError as error:
                if "status code: 416" not in str(error):
                    raise
                return Kept(b"", "")  # the range begins where the object ends: it is empty
            size = found.meta["size"]
            if whole and size - start > limit_bytes:
                raise Damaged(f"{key} is damaged: it has {size} bytes, and {limit_bytes} are the most it may")
            data = bytes(await found.bytes_async()) if size else b""
            return Kept(data, found.meta["e_tag"] or "")

        try:
            return await self._ask(read)
        except FileNotFoundError:
            return None

    async def read_heads(self, keys: Sequence[str], head_bytes: int) -> list[bytes | None]:
        found = await asyncio.gather(*(self.read(key, head_bytes, whole=False) for key in keys))
        return [None if kept is None else kept.data for kept in found]

    async def copy(self, key: str, target: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            await self._ask(lambda client: obstore.copy_async(client, key, target))

    async def delete(self, key: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            await self._ask(lambda client: obstore.delete_async(client, key))

    async def list_keys(self, folder: str) -> AsyncIterator[Sequence[str]]:
        client = await self._connect()
        stream = obstore.list(client, folder or None, chunk_size=LIST_AT_ONCE)
        while some := await self._ask(lambda _: _next(stream)):
            yield [entry["path"] for entry in some]

    async def list_folders(self, folder: str) -> list[str]:
        found = await self._ask(lambda client: obstore.list_with_delimiter_async(client, folder or None))
        return sorted(str(name).rpartition("/")[2] for name in found["common_prefixes"])

    async def upload(self, path: Path, key: str) -> None:
        await self._ask(
            lambda client: obstore.put_async(
                client, key, path, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE,
                attributes={"Content-Type": "application/octet-stream"},
            ),
            is_large=True,
        )  # fmt: skip

    async def close(self) -> None:
        self._clients.clear()

    async def _create(self, blob: Blob) -> bool:
        if len(blob.data) > MULTIPART_BYTES:  # parts know no condition
            if await self.read(blob.key, 1, whole=False) is not None:
                return False
            await self._put(blob, "overwrite")
            return True
        mark = uuid.uuid4().hex
        try:
            await self._put(blob._replace(metadata={**blob.metadata, MARK: mark}), "create")
        except AlreadyExistsError:
            return await self._is_marked(blob.key, mark)
        return True

    async def _is_marked(self, key: str, mark: str) -> bool:
        """Then it is our own write that was in the way: its answer was lost, and the client tried again."""
        try:
            found = await self._ask(lambda client: obstore.get_async(client, key, options={"head": True}))
        except FileNotFoundError:
            return False
        return found.attributes.get(MARK) == mark

    async def _put(self, blob: Blob, mode: "PutMode") -> None:
        attributes = {"Content-Type": blob.content_type, **blob.metadata}
        if blob.content_encoding:
            attributes["Content-Encoding"] = blob.content_encoding
        in_parts = len(blob.data) > MULTIPART_BYTES
        await self._ask(
            lambda client: obstore.put_async(
                client, blob.key, blob.data, attributes=attributes, mode=None if in_parts else mode,
                use_multipart=in_parts, chunk_size=PART_BYTES, max_concurrency=PARTS_AT_ONCE,
            ),
            is_large=len(blob.data) > LARGE_BYTES,
        )  # fmt: skip

    async def _ask(self, work: Callable[[Client], Awaitable[_T]], *, is_large: bool = False) -> _T:
        """What a caller may expect passes through: that something is there, is not there, or has changed."""
        client = await self._connect(is_large=is_large)
        async with self._at_once:
            try:
                return await work(client)
            except (EngineError, FileNotFoundError, AlreadyExistsError, PreconditionError) as error:
                if isinstance(error, FileNotFoundError) and "NoSuchBucket" in str(error):
                    raise explain(error, str(self.place)) from None
                raise
            except (BaseError, OSError, ValueError) as error:
                trouble = explain(error, str(self.place))
                if isinstance(trouble, EngineRefused):
                    self._clients.clear()  # the next one reads the keys anew: somebody may have mended them
                raise trouble from None

    async def _connect(self, *, is_large: bool = False) -> Client:
        client = self._clients.get(is_large)
        if client is None:
            session = await asyncio.to_thread(open_session, self.place)
            client = self._clients[is_large] = _make_client(session, self.place, is_large=is_large)
        return client


def _make_client(session: Any, place: S3Place, *, is_large: bool) -> Client:
    config: Any = {
        "region": session.region_name,
        "server_side_encryption": "AES256",
        "checksum_algorithm": "SHA256",
        "virtual_hosted_style_request": not place.endpoint_url,
    }
    if place.endpoint_url:
        config["endpoint"] = place.endpoint_url
    return Client(
        place.bucket,
        prefix=place.prefix or None,
        config=config,
        client_options={
            "allow_http": place.endpoint_url.startswith("http://"),
            "connect_timeout": timedelta(seconds=3),
            "timeout": timedelta(seconds=MOST_SECONDS),
            **({} if is_large else {"read_timeout": timedelta(seconds=SILENCE_SECONDS)}),
        },
        retry_config={
            "max_retries": 3,
            "retry_timeout": timedelta(seconds=5),
            "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=1), "base": 2},
        },
        credential_provider=Boto3CredentialProvider(session, ttl=KEYS_KEPT),
    )


async def _next(stream: Any) -> Sequence[Any]:
    try:
        found: Sequence[Any] = await anext(stream)
    except StopAsyncIteration:
        return []
    return found
