"""Is a page one file that says everything, and is any damage to it noticed?"""

import gzip
import random
import subprocess
import tracemalloc

import msgspec
import pytest

from crawler.errors import Damaged, EngineRefused
from crawler.storage import gzip_page
from crawler.storage.gzip_page import complete, decode_head, decode_page, encode_page
from crawler.storage.page import page_id
from crawler.urls import canonicalise
from tests.storage.stores import make_page

PAGE = make_page(body=b"<p>some text</p>" * 200)
DATA = encode_page(PAGE.info, PAGE.body)


def test_any_gzip_prints_the_body(tmp_path):
    (tmp_path / "page.html.gz").write_bytes(DATA)
    assert subprocess.run(["zcat", tmp_path / "page.html.gz"], capture_output=True).stdout == PAGE.body
    assert subprocess.run(["gzip", "-t", tmp_path / "page.html.gz"], capture_output=True).returncode == 0
    assert gzip.decompress(DATA) == PAGE.body


def test_equal_pages_make_equal_files():
    assert encode_page(PAGE.info, PAGE.body) == DATA


def test_the_header_alone_says_which_page_it_is():
    info, start = decode_head(DATA[: DATA.index(b"\0", 10) + 3], "x")
    assert info == PAGE.info
    assert decode_head(DATA[: start - 1], "x") is None


def test_a_file_that_is_cut_off_is_damaged():
    for length in range(len(DATA)):
        with pytest.raises(Damaged, match=r"^x is"):
            decode_page(DATA[:length], "x")
    with pytest.raises(Damaged):
        decode_page(DATA + b"more", "x")


def test_no_flipped_bit_changes_a_page_unnoticed():
    for position in range(len(DATA)):
        for bit in range(8):
            changed = bytearray(DATA)
            changed[position] ^= 1 << bit
            try:
                assert decode_page(bytes(changed), "x") == PAGE  # deflate leaves bits unused at its end
            except Damaged:
                continue


def test_noise_is_damaged_and_nothing_worse():
    noise = random.Random(1)
    for length in (0, 1, 9, 10, 11, 100, 5000):
        for start in (b"", b"\x1f\x8b\x08", DATA[:10], DATA[:400]):
            with pytest.raises(Damaged):
                decode_page(start + noise.randbytes(length), "x")


def test_a_bomb_is_not_unfolded():
    small = msgspec.structs.replace(PAGE.info, body_bytes=1000)
    bomb = encode_page(small, bytes(50_000_000))
    tracemalloc.start()
    with pytest.raises(Damaged, match="more than the 1000 bytes"):
        decode_page(bomb, "x")
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()
    for claim in (1 << 50, -1):
        with pytest.raises(Damaged, match="says that it holds"):
            decode_page(encode_page(msgspec.structs.replace(small, body_bytes=claim), b""), "x")


def test_a_header_without_end_is_not_looked_through():
    with pytest.raises(Damaged, match="no end"):
        decode_page(DATA[:10] + b"{" * gzip_page.MAX_HEADER_BYTES, "x")
    with pytest.raises(Damaged, match="none of ours"):
        decode_page(gzip.compress(b"x"), "x")


def test_headers_beyond_reason_are_left_out_rather_than_the_page():
    page = make_page(headers={"X": "y" * gzip_page.MAX_HEADER_BYTES})
    assert decode_page(encode_page(page.info, page.body), "x").info.headers == {}
    with pytest.raises(EngineRefused, match="more than a file can carry"):
        encode_page(make_page("https://a.example/" + "x" * gzip_page.MAX_HEADER_BYTES, id="0" * 16).info, b"")


def test_a_body_beyond_reason_is_refused(monkeypatch):
    monkeypatch.setattr(gzip_page, "MAX_BODY_BYTES", 10)
    with pytest.raises(EngineRefused, match="at most 10"):
        complete(make_page(body=b"x" * 11))


def test_ids_are_unsigned_and_of_one_length():
    assert [page_id(number) for number in (0, 1, -1, -(1 << 63))] == [
        "0" * 16,
        "0" * 15 + "1",
        "f" * 16,
        "8" + "0" * 15,
    ]
    assert len(page_id(canonicalise("https://a.example/").fingerprint)) == 16
