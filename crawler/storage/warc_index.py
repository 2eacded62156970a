"""Where in a WARC file is a page? Lines of CDXJ beside the file: ``<id> <time> {offset, length, page}``.

A finished index is sorted: a page is found by halving, and several files are read as one by merging. The index of a
file that is still written, or was when its process died, is not sorted, and may lack what came last: it is scanned for.
"""

import bisect
import heapq
import mmap
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

from crawler.errors import Damaged
from crawler.storage import gzip_page
from crawler.storage.page import PageInfo
from crawler.storage.warc_record import find_info

FINISHED = ".cdxj"
UNFINISHED = ".cdxj.open"
WARC_FILE = ".warc.gz"

_PREFIX_LENGTH = 34  # an id, a space and 17 digits: what sorts, and what tells two versions apart
_GZIP = 31
_CHUNK_BYTES = 1 << 16

Lines = bytes | mmap.mmap | list[bytes]


class Entry(msgspec.Struct, frozen=True):
    offset: int
    length: int
    page: PageInfo
    filename: str = ""  # as CDXJ has it: index files of several WARC files may be put together


def write_line(entry: Entry) -> bytes:
    time = datetime.fromtimestamp(entry.page.fetched_at / 1000, UTC)
    text = msgspec.json.encode({
        "filename": entry.filename, "offset": entry.offset, "length": entry.length,
        "page": msgspec.Raw(gzip_page.encode_info(entry.page)),
    })  # fmt: skip
    return b"%s %s%03d %s\n" % (entry.page.id.encode(), f"{time:%Y%m%d%H%M%S}".encode(), time.microsecond // 1000, text)


def read_line(line: bytes) -> Entry:
    try:
        return msgspec.json.decode(line[_PREFIX_LENGTH + 1 :], type=Entry)
    except msgspec.MsgspecError as error:
        raise Damaged(f"a line of the index is damaged ({error}): {line[:100]!r}") from None


def find_lines(lines: Lines, id_: str) -> Iterator[bytes]:
    """In sorted lines: those of one page, by halving."""
    wanted = id_.encode() + b" "
    if isinstance(lines, list):
        position = bisect.bisect_left(lines, wanted)
        while position < len(lines) and lines[position].startswith(wanted):
            yield lines[position]
            position += 1
        return
    low, high = 0, len(lines)  # both are where a line begins; all before low are smaller, all from high on are not
    while low < high:
        middle = max(lines.rfind(b"\n", low, (low + high) // 2) + 1, low)
        if lines[middle : middle + len(wanted)] < wanted:
            low = lines.find(b"\n", middle) + 1 or len(lines)
        else:
            high = middle
    while lines[low : low + len(wanted)] == wanted:
        end = lines.find(b"\n", low)
        if end < 0:
            return
        yield bytes(lines[low:end])
        low = end + 1


def merge(sources: Sequence[Lines]) -> Iterator[bytes]:
    """All lines of several sorted indexes, and each version of a page once."""
    last = b""
    for line in heapq.merge(*map(_split, sources)):
        if line[:_PREFIX_LENGTH] != last:
            last = line[:_PREFIX_LENGTH]
            yield line


def _split(lines: Lines) -> Iterator[bytes]:
    if isinstance(lines, list):
        yield from lines
        return
    start = 0
    while (end := lines.find(b"\n", start)) >= 0:
        yield bytes(lines[start:end])
        start = end + 1


def read_finished(warc: Path) -> Lines | None:
    """None if the index of that local file is not finished."""
    try:
        with index_path(warc, FINISHED).open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (FileNotFoundError, ValueError):  # not there, or empty, which cannot be: no such file is ever finished
        return None


class GrowingIndex:
    """Of a file that is still written, or was when its process died. Each time only what is new is read."""

    def __init__(self, warc: Path) -> None:
        self._warc = warc
        self._lines: list[bytes] = []
        self._read_until = 0  # in the index
        self._end = 0  # of the last record that the index knows

    def read(self) -> tuple[list[bytes], int]:
        """The lines, sorted, and where the last whole record ends. Raises FileNotFoundError if the file is gone."""
        with self._warc.open("rb") as file:
            self._read_on(file.seek(0, 2))
            self._lines.sort()
            unknown, end = [], self._end
            for offset, length, head in scan(file, end):
                end = offset + length
                info = find_info(head, str(self._warc))
                if info is not None:
                    unknown.append(write_line(Entry(offset, length, info, self._warc.name)))
        return sorted([*self._lines, *unknown]), end  # a copy: whoever reads it is not disturbed by the next read

    def _read_on(self, warc_bytes: int) -> None:
        try:
            with index_path(self._warc, UNFINISHED).open("rb") as index:
                if index.seek(0, 2) < self._read_until:  # a batch was taken back
                    self._lines, self._read_until, self._end = [], 0, 0
                index.seek(self._read_until)
                for line, self._end in _read_whole(index, warc_bytes):
                    self._lines.append(line)
                    self._read_until += len(line)
        except FileNotFoundError:
            return


def _read_whole(index: IO[bytes], warc_bytes: int) -> Iterator[tuple[bytes, int]]:
    """Lines, and where their records end, up to one that was torn or whose record did not come to be."""
    for line in index:
        try:
            entry = read_line(line)
        except Damaged:
            return
        end = entry.offset + entry.length
        if end > warc_bytes or not line.endswith(b"\n"):
            return
        yield line, end


def complete(warc: Path) -> tuple[list[int], int]:
    """Adds to the index of a file that nobody writes any more what it lacks. Answers where its lines begin, in the
    order of a finished index, and where the last whole record ends. The lines themselves are not kept: those of a file
    of usual size are some hundred MB, since each has all headers of its page.
    """
    places: list[tuple[bytes, int]] = []
    size = warc_end = 0
    with warc.open("rb") as file, index_path(warc, UNFINISHED).open("a+b") as index:
        index.seek(0)
        for line, record_end in _read_whole(index, file.seek(0, 2)):
            places.append((line[:_PREFIX_LENGTH], size))
            size += len(line)
            warc_end = record_end
        index.truncate(size)
        for offset, length, head in scan(file, warc_end):
            warc_end = offset + length
            info = find_info(head, str(warc))
            if info is not None:
                line = write_line(Entry(offset, length, info, warc.name))
                index.write(line)
                places.append((line[:_PREFIX_LENGTH], size))
                size += len(line)
    return [place for _, place in sorted(places)], warc_end


def scan(file: IO[bytes], start: int) -> Iterator[tuple[int, int, bytes]]:
    """Offset, length and beginning of every whole gzip member; stops at one that is cut off or damaged."""
    file.seek(start)
    data = b""
    while True:
        inflater = zlib.decompressobj(_GZIP)
        head = bytearray()
        fed = 0
        while not inflater.eof:
            if not data:
                data = file.read(_CHUNK_BYTES)
                if not data:
                    return
            try:
                text = inflater.decompress(data, _CHUNK_BYTES)
            except zlib.error:
                return
            left = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
            fed += len(data) - len(left)
            data = left
            if len(head) < 2 * gzip_page.MAX_HEADER_BYTES:
                head += text
        yield start, fed, bytes(head)
        start += fed


def index_path(warc: Path, ending: str) -> Path:
    return warc.with_name(warc.name.removesuffix(WARC_FILE) + ending)
