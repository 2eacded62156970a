"""What do others do with a page? Title, description, visible text and links by BeautifulSoup or parsel; gzip by zlib;
files by hand or objects by boto3; an index by whoosh.
"""

import gzip
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin

import parsel
from bs4 import BeautifulSoup
from whoosh import fields, index

ZLIB_LEVEL = 6  # of the gzip program; Python's own default of 9 takes longer and saves next to nothing
THREADS = 8
UNSEEN = ("script", "style", "template", "noscript")


class Read(NamedTuple):
    title: str
    description: str
    text: str
    links: list[str]


def parse_with_soup(body: bytes, url: str) -> Read:
    """On lxml, the fastest of its parsers."""
    soup = BeautifulSoup(body, "lxml")
    for element in soup(UNSEEN):
        element.decompose()
    meta = soup.find("meta", attrs={"name": "description"})
    return Read(
        soup.title.get_text(strip=True) if soup.title else "",
        str(meta.get("content", "")) if meta else "",
        soup.body.get_text(" ", strip=True) if soup.body else "",
        _join(url, [str(link["href"]) for link in soup.find_all("a", href=True)]),
    )


def parse_with_parsel(body: bytes, url: str) -> Read:
    # Not the text alone: a page with an XML prolog would be taken for XML.
    page = parsel.Selector(body=body, encoding="utf-8", type="html")
    unseen = " or ".join(f"self::{name}" for name in UNSEEN)
    pieces = page.xpath(f"//body//text()[not(ancestor::*[{unseen}])]").getall()
    return Read(
        page.xpath("normalize-space(//title)").get() or "",
        page.xpath("//meta[@name='description']/@content").get() or "",
        " ".join(" ".join(pieces).split()),
        _join(url, page.xpath("//a/@href").getall()),
    )


def _join(url: str, hrefs: Sequence[str]) -> list[str]:
    links = (urldefrag(urljoin(url, href.strip())).url for href in hrefs)
    return list(dict.fromkeys(link for link in links if link.startswith("http")))


def compress(body: bytes) -> bytes:
    return gzip.compress(body, ZLIB_LEVEL, mtime=0)


def write_files(folder: Path, packed: dict[str, bytes]) -> None:
    """As it is mostly done: neither atomic nor safe from a power cut."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in packed.items():
        (folder / f"{name}.html.gz").write_bytes(data)


def put_objects(client: Any, bucket: str, prefix: str, packed: dict[str, bytes]) -> None:
    def put(item: tuple[str, bytes]) -> None:
        client.put_object(
            Bucket=bucket, Key=f"{prefix}/{item[0]}.html.gz", Body=item[1], ContentType="text/html",
            ContentEncoding="gzip", ServerSideEncryption="AES256",
        )  # fmt: skip

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(put, packed.items()))


class WhooshIndex:
    """The schema of the books: an id, and text that is stored."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        schema = fields.Schema(
            url=fields.ID(stored=True, unique=True),
            title=fields.TEXT(stored=True, field_boost=2.0),
            description=fields.TEXT(stored=True),
            content=fields.TEXT(stored=True),
            host=fields.ID(stored=True),
            fetched_at=fields.NUMERIC(int, bits=64, stored=True, sortable=True),
        )
        self.index = index.create_in(str(folder), schema)

    def write(self, documents: Sequence[dict[str, Any]]) -> None:
        writer = self.index.writer(limitmb=128)
        for document in documents:
            writer.add_document(**document)
        writer.commit()

    def close(self) -> None:
        self.index.close()
