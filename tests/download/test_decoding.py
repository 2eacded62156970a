"""Is every encoding undone, however the bytes arrive, and does a bomb cost next to nothing?"""

import gzip
import random
import tracemalloc
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd

from crawler.download.decoding import Decoding, split_encodings
from crawler.download.errors import BadAnswer, TooLarge
from tests.download.hostile import bomb

LIMIT = 10 * 1024 * 1024


def deflate_raw(data: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-15)
    return compressor.compress(data) + compressor.flush()


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate with a header": ("deflate", zlib.compress),
    "deflate without": ("deflate", deflate_raw),
    "br": ("br", brotli.compress),
    "zstd": ("zstd", zstd.compress),
}
kinds = pytest.mark.parametrize("kind", ENCODERS)


def decode(names: list[str], data: bytes, piece_bytes: int, limit_bytes: int = 0) -> tuple[bytes, bool]:
    pieces: list[bytes] = []
    decoding = Decoding(names, pieces.append, limit_bytes)
    for start in range(0, len(data), piece_bytes):
        decoding.feed(data[start : start + piece_bytes])
    return b"".join(pieces), decoding.is_complete


@kinds
@pytest.mark.parametrize("piece_bytes", [1, 7, 1000, 1 << 30])
def test_a_body_is_decoded_however_it_is_cut(kind: str, piece_bytes: int):
    name, encode = ENCODERS[kind]
    dice = random.Random(3)
    for size in (0, 1, 1000, 65535, 65536, 65537, 131072):
        for body in (bytes(size), dice.randbytes(size)):
            assert decode([name], encode(body), piece_bytes) == (body, True), size


@kinds
@pytest.mark.parametrize("piece_bytes", [5, 1 << 30])
def test_a_stream_that_stops_early_is_known_as_such(kind: str, piece_bytes: int):
    name, encode = ENCODERS[kind]
    body = random.Random(4).randbytes(20_000)
    decoded, is_complete = decode([name], encode(body)[:-9], piece_bytes)
    assert not is_complete
    assert body.startswith(decoded)


@kinds
def test_an_empty_body_is_complete(kind: str):
    assert decode([ENCODERS[kind][0]], b"", 10) == (b"", True)


@pytest.mark.parametrize("kind", ["gzip", "br", "zstd"])
def test_what_is_not_in_the_encoding_is_a_bad_answer(kind: str):
    with pytest.raises(BadAnswer, match="Content-Encoding"):
        decode([kind], b"<html>this was never compressed at all</html>" * 10, 1000)


@pytest.mark.parametrize("piece_bytes", [1, 3, 1000])
@pytest.mark.parametrize(("name", "encode"), [("gzip", gzip.compress), ("zstd", zstd.compress)])
def test_members_follow_each_other_and_a_tail_of_rubbish_is_ignored(name: str, encode, piece_bytes: int):
    body = encode(b"one,") + encode(b"two,") + encode(b"three")
    assert decode([name], body, piece_bytes) == (b"one,two,three", True)
    assert decode([name], body + b"\0\0\0\0 rubbish", piece_bytes) == (b"one,two,three", True)


def test_encodings_are_undone_from_the_last_to_the_first():
    names, remaining = split_encodings([b"br, gzip", b" ZSTD "])
    assert (names, remaining) == (["zstd", "gzip", "br"], [])
    body = zstd.compress(gzip.compress(brotli.compress(b"three coats" * 1000)))
    assert decode(names, body, 100) == (b"three coats" * 1000, True)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ([], ([], [])),
        ([b""], ([], [])),
        ([b"identity"], ([], [])),
        ([b"identity, gzip"], (["gzip"], [])),
        ([b"rot13, gzip"], (["gzip"], ["rot13"])),
        ([b"gzip, rot13"], ([], ["gzip", "rot13"])),
        ([b"gzip", b"br"], (["br", "gzip"], [])),
    ],
)
def test_what_can_be_undone_is_told_from_what_cannot(header: list[bytes], expected: tuple[list[str], list[str]]):
    assert split_encodings(header) == expected


def test_more_than_three_encodings_are_refused():
    with pytest.raises(BadAnswer, match="4 encodings"):
        split_encodings([b"gzip, gzip, gzip, gzip"])


# --- Bombs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gzip", "br", "zstd"])
def test_a_bomb_is_ended_at_the_limit_and_costs_no_memory(kind: str):
    body = bomb(kind)
    assert len(body) < 2_000_000
    sizes: list[int] = []
    tracemalloc.start()
    try:
        decoding = Decoding([kind], lambda data: sizes.append(len(data)), LIMIT)
        with pytest.raises(TooLarge, match=str(LIMIT)):
            decoding.feed(body)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sum(sizes) <= LIMIT
    assert max(sizes) <= 256 * 1024
    assert peak_bytes < 30_000_000  # the decoder's own window, and a copy of what went in


def test_a_bomb_in_a_bomb_is_ended_by_the_outer_limit():
    inner = gzip.compress(gzip.compress(bytes(200_000_000), 9), 9)
    assert len(inner) < 10_000
    with pytest.raises(TooLarge):
        decode(["gzip", "gzip"], inner, 100, LIMIT)


def test_a_zstd_frame_may_not_ask_for_a_huge_window():
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: 27})
    frame = compressor.compress(random.Random(1).randbytes(100_000)) + compressor.flush()
    with pytest.raises(BadAnswer):
        decode(["zstd"], frame, 1000)
