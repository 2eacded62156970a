"""How are pages kept as one file each, and found again? The default format, on a directory or on S3.

A page has one key a day. A newer version of the same day takes the key; the one before is set aside under its hash if
its body was another, since a duplicate (``same_as``) may mean that body. Whichever of two versions comes late, the key
ends with the newer one, and putting either again changes nothing.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Sequence

from crawler.errors import Damaged, EngineUnavailable
from crawler.storage import gzip_page
from crawler.storage.days import Days
from crawler.storage.files import Files
from crawler.storage.layout import LINK, PAGES, PageKey, aside_key, check_id, check_info, read_page_key
from crawler.storage.objects import Blob, Objects
from crawler.storage.page import Page, PageInfo

MAX_HOPS = 4  # a duplicate names a page with a body; but that page may have become a duplicate since
_DAYS_AT_ONCE = 8
_INFOS_AT_ONCE = 256
_HEADER_TEXT = re.compile(r"[!-~](?:[ -~]{0,126}[!-~])?")
_METADATA_URL_LENGTH = 1000  # all metadata of an object may be 2 kB; the whole URL is in the file

logger = logging.getLogger(__name__)


class HtmlStore(Files):
    def __init__(self, objects: Objects) -> None:
        super().__init__(objects)
        self._days = Days(objects, PAGES)

    async def open(self) -> None:
        await self.objects.open()

    # --- Writing -----------------------------------------------------------------------------

    async def put(self, pages: Sequence[Page]) -> None:
        if not pages:
            return
        infos, blobs = await asyncio.to_thread(_encode, pages)
        self._days.expect({info.day for info in infos})
        written = await self.objects.create(blobs)
        for info, blob, is_new in zip(infos, blobs, written, strict=True):
            if not is_new:
                await self._settle(info, blob)

    async def _settle(self, info: PageInfo, blob: Blob) -> None:
        """There is a version of that day already. Which of them is to have the key?"""
        for _ in range(5):
            kept = await self.objects.read(blob.key, gzip_page.MAX_HEADER_BYTES, whole=False)
            if kept is None:
                [is_new] = await self.objects.create([blob])
                if is_new:
                    return
                continue
            other = _read_info(kept.data, blob.key)
            if other is not None and other.fetched_at >= info.fetched_at:
                if other.sha256 != info.sha256 and not info.same_as:
                    await self.objects.create([blob._replace(key=aside_key(info))])
                return
            if other is not None and other.sha256 != info.sha256 and not info.same_as:
                await self.objects.copy(blob.key, aside_key(other))
            if await self.objects.replace(blob, kept.version):
                return
        raise EngineUnavailable(f"{blob.key} is being written by others all the time; try again")

    # --- Reading -----------------------------------------------------------------------------

    async def get(self, key: str) -> Page | None:
        found = read_page_key(key)
        return None if found is None else await self._get(found)

    async def find(self, id_: str) -> Page | None:
        check_id(id_)
        days = await self._days.newest_first()
        for position in range(0, len(days), _DAYS_AT_ONCE):
            some = days[position : position + _DAYS_AT_ONCE]
            for page in await asyncio.gather(*(self._get(PageKey(day, id_, "")) for day in some)):
                if page is not None:
                    return page
        return None

    async def pages(self, *, crawl: str = "", since_day: str = "") -> AsyncIterator[PageInfo]:
        for day in reversed(await self._days.newest_first()):
            if day < since_day:
                continue
            async for keys in self.objects.list_keys(f"{PAGES}/{day}"):
                ours = [key for key in keys if read_page_key(key)]
                for position in range(0, len(ours), _INFOS_AT_ONCE):
                    for info in await self._read_infos(ours[position : position + _INFOS_AT_ONCE]):
                        if not crawl or info.crawl == crawl:
                            yield info

    async def _get(self, key: PageKey) -> Page | None:
        body, link = await asyncio.gather(self._read_body(key.body), self._read_link(key.link))
        if link is None or key.aside or (body is not None and body.info.fetched_at >= link.fetched_at):
            return body
        if body is not None and body.info.sha256 == link.sha256:
            return Page(link, body.body)
        return Page(link, await self._follow(link))

    async def _follow(self, link: PageInfo) -> bytes:
        """The body of another page. It may have been fetched again since: the hash tells which body was meant."""
        key = link.same_as
        for _ in range(MAX_HOPS):
            at = read_page_key(key)
            if at is None:
                break
            for place in (at.body, PageKey(at.day, at.id, link.sha256[:16]).body):
                page = await self._read_body(place)
                if page is not None and (not link.sha256 or page.info.sha256 == link.sha256):
                    return page.body
            onward = await self._read_link(at.link)
            if onward is None or onward.same_as == key:
                break
            key = onward.same_as
        raise Damaged(f"{link.key} is a duplicate of {link.same_as}, which is not kept any more with that body")

    async def _read_body(self, key: str) -> Page | None:
        kept = await self.objects.read(key, gzip_page.MAX_FILE_BYTES)
        if kept is None:
            return None
        if len(kept.data) < 100_000:
            return gzip_page.decode_page(kept.data, key)
        return await asyncio.to_thread(gzip_page.decode_page, kept.data, key)

    async def _read_link(self, key: str) -> PageInfo | None:
        kept = await self.objects.read(key, gzip_page.MAX_HEADER_BYTES)
        return None if kept is None else gzip_page.decode_info(kept.data, key)

    async def _read_infos(self, keys: Sequence[str]) -> list[PageInfo]:
        """Of a listing: what is damaged is told and left out, or one bad file would end every rebuild of the index."""
        infos = []
        for key, head in zip(keys, await self.objects.read_heads(keys, gzip_page.HEAD_BYTES), strict=True):
            try:
                if head is not None and len(head) == gzip_page.HEAD_BYTES and _needs_more(key, head):
                    kept = await self.objects.read(key, gzip_page.MAX_HEADER_BYTES, whole=False)
                    head = kept.data if kept else None
                if head is not None:
                    infos.append(_decode_info(head, key))
            except Damaged as error:
                logger.warning("left out: %s", error)
        return infos


def _encode(pages: Sequence[Page]) -> tuple[list[PageInfo], list[Blob]]:
    infos, blobs = [], []
    for page in pages:
        key = check_info(page.info)
        info = gzip_page.complete(page)
        infos.append(info)
        if info.same_as:
            blobs.append(Blob(key.link, gzip_page.encode_info(info), "application/json", "", _metadata(info)))
            continue
        # With these two a browser shows the page when it is given a link to the object. Tools that fetch objects
        # (aws, boto3, obstore) do not decode; of HTTP libraries that do, whoever reads gets the body itself.
        content_type = info.content_type if _HEADER_TEXT.fullmatch(info.content_type) else "text/html"
        data = gzip_page.encode_page(info, page.body)
        blobs.append(Blob(key.body, data, content_type, "gzip", _metadata(info)))
    return infos, blobs


def _metadata(info: PageInfo) -> dict[str, str]:
    """S3 takes ASCII, and 2 kB of it."""
    texts = {
        "url": info.url[:_METADATA_URL_LENGTH],
        "status": str(info.status),
        "fetched_at": str(info.fetched_at),
        "sha256": info.sha256,
        "content_type": info.content_type[:100],
        "charset": info.charset[:40],
        "crawl": info.crawl[:200],
    }
    return {name: re.sub(r"[^ -~]", "?", text).strip() for name, text in texts.items()}


def _needs_more(key: str, head: bytes) -> bool:
    return key.endswith(LINK) or gzip_page.decode_head(head, key) is None


def _decode_info(head: bytes, key: str) -> PageInfo:
    if key.endswith(LINK):
        return gzip_page.decode_info(head, key)
    found = gzip_page.decode_head(head, key)
    if found is None:
        raise Damaged(f"{key} is damaged: it ends after {len(head)} bytes, within its header")
    return found[0]


def _read_info(head: bytes, key: str) -> PageInfo | None:
    try:
        return _decode_info(head, key)
    except Damaged as error:
        logger.warning("written anew: %s", error)
        return None
