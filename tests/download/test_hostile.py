"""What is recorded when a server misbehaves in each of the ways it can, and does it cost memory?"""

import tracemalloc

import psutil
import pytest
from scrapy import Request
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)

from crawler.download.errors import BadAnswer, TooLarge, TooSlow
from crawler.frontier.reasons import Dead
from crawler.middlewares.outcome import _classify
from tests.download.downloads import IMPATIENT, download
from tests.download.hostile import BEHAVIOURS, PAGE, HostileServer, bomb
from tests.servers import free_port

MOST_BYTES = 50_000_000

# Path, exception, the reason that the frontier keeps.
ENDS: list[tuple[str, type[Exception], Dead]] = [
    ("/slow_first_byte", DownloadTimeoutError, Dead.TIMEOUT),
    ("/slow_headers", DownloadTimeoutError, Dead.TIMEOUT),
    ("/just_fast_enough", DownloadTimeoutError, Dead.TIMEOUT),
    ("/endless_interim_answers", DownloadTimeoutError, Dead.TIMEOUT),
    ("/drip", TooSlow, Dead.TOO_SLOW),
    ("/silent_body", TooSlow, Dead.TOO_SLOW),
    ("/endless_chunk_extension", TooSlow, Dead.TOO_SLOW),
    ("/endless_body", TooLarge, Dead.TOO_LARGE),
    ("/endless_chunks", TooLarge, Dead.TOO_LARGE),
    ("/promised_too_much", TooLarge, Dead.TOO_LARGE),
    ("/bomb_gzip", TooLarge, Dead.TOO_LARGE),
    ("/bomb_brotli", TooLarge, Dead.TOO_LARGE),
    ("/bomb_zstd", TooLarge, Dead.TOO_LARGE),
    ("/bomb_in_a_bomb", TooLarge, Dead.TOO_LARGE),
    ("/endless_trailers", BadAnswer, Dead.BAD_RESPONSE),
    ("/endless_headers", BadAnswer, Dead.BAD_RESPONSE),
    ("/endless_long_headers", BadAnswer, Dead.BAD_RESPONSE),
    ("/endless_header", BadAnswer, Dead.BAD_RESPONSE),
    ("/endless_status_line", BadAnswer, Dead.BAD_RESPONSE),
    ("/flood_of_interim_answers", BadAnswer, Dead.BAD_RESPONSE),
    ("/one_large_header", BadAnswer, Dead.BAD_RESPONSE),
    ("/headers_of_70_kilobytes", BadAnswer, Dead.BAD_RESPONSE),
    ("/chunks_of_garbage", BadAnswer, Dead.BAD_RESPONSE),
    ("/chunks_of_garbage_later", BadAnswer, Dead.BAD_RESPONSE),
    ("/content_length_of_garbage", BadAnswer, Dead.BAD_RESPONSE),
    ("/two_content_lengths", BadAnswer, Dead.BAD_RESPONSE),
    ("/http_0_9", BadAnswer, Dead.BAD_RESPONSE),
    ("/garbage_status_line", BadAnswer, Dead.BAD_RESPONSE),
    ("/status_999999", BadAnswer, Dead.BAD_RESPONSE),
    ("/noise", BadAnswer, Dead.BAD_RESPONSE),
    ("/another_protocol", BadAnswer, Dead.BAD_RESPONSE),
    ("/header_without_a_name", BadAnswer, Dead.BAD_RESPONSE),
    ("/five_encodings", BadAnswer, Dead.BAD_RESPONSE),
    ("/not_gzip_at_all", BadAnswer, Dead.BAD_RESPONSE),
    ("/body_shorter_than_promised", ResponseDataLossError, Dead.CONNECTION),
    ("/chunks_that_stop", ResponseDataLossError, Dead.CONNECTION),
    ("/gzip_that_stops", ResponseDataLossError, Dead.CONNECTION),
    ("/reset_mid_body", ResponseDataLossError, Dead.CONNECTION),
    ("/reset_before_an_answer", DownloadFailedError, Dead.CONNECTION),
    ("/reset_mid_headers", DownloadFailedError, Dead.CONNECTION),
    ("/empty_answer", DownloadFailedError, Dead.CONNECTION),
]
SLOW = {Dead.TIMEOUT, Dead.TOO_SLOW}
FINE = {"/good", "/headers_of_50_kilobytes", "/body_longer_than_promised"}


def test_every_way_to_misbehave_is_tried():
    assert {path for path, *_ in ENDS} | FINE == set(BEHAVIOURS)


@pytest.mark.parametrize(("path", "exception", "reason"), ENDS, ids=[path[1:] for path, *_ in ENDS])
def test_a_hostile_answer_ends_with_its_reason_and_costs_no_memory(path: str, exception: type[Exception], reason: Dead):
    for kind in ("gzip", "br", "zstd") if "bomb" in path else ():
        bomb(kind)  # made once, and not on the account of the one that is bombed
    process = psutil.Process()
    with HostileServer() as server:
        before_bytes = process.memory_info().rss
        tracemalloc.start()
        try:
            with pytest.raises(exception) as caught:
                download(server.url(path), **(IMPATIENT if reason in SLOW else {}))
            peak_bytes = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert _classify(caught.value)[0] == reason
        assert server.accepted == 1  # nothing is tried again behind the frontier's back
        assert peak_bytes < MOST_BYTES
        assert process.memory_info().rss - before_bytes < MOST_BYTES


@pytest.mark.parametrize(
    ("path", "body"),
    [("/good", PAGE), ("/headers_of_50_kilobytes", PAGE), ("/body_longer_than_promised", b"hello")],
)
def test_what_is_merely_odd_is_a_page(path: str, body: bytes):
    with HostileServer() as server:
        response = download(server.url(path))
    assert (response.status, response.body, response.flags) == (200, body, [])


@pytest.mark.parametrize(
    ("path", "body"),
    [("/body_shorter_than_promised", PAGE), ("/chunks_that_stop", b"hello"), ("/reset_mid_body", PAGE)],
)
def test_a_part_of_a_page_is_a_page_for_whoever_asks_for_parts(path: str, body: bytes):
    with HostileServer() as server:
        by_setting = download(server.url(path), DOWNLOAD_FAIL_ON_DATALOSS=False)
        by_meta = download(Request(server.url(path), meta={"download_fail_on_dataloss": False}))
    for response in (by_setting, by_meta):
        assert (response.body, response.flags) == (body, ["dataloss"])


def test_a_connection_that_is_closed_at_once():
    with HostileServer(hangs_up=True) as server, pytest.raises(DownloadFailedError):
        download(server.url("/"))


def test_nobody_listens():
    with pytest.raises(DownloadConnectionRefusedError):
        download(f"http://127.0.0.1:{free_port()}/")


def test_limits_may_be_lifted_for_one_request():
    with HostileServer() as server:
        with pytest.raises(DownloadCancelledError, match="limit is 1000"):
            download(Request(server.url("/endless_body"), meta={"download_maxsize": 1000}))
        slow = Request(server.url("/slow_first_byte"), meta={"download_timeout": 0.2})
        with pytest.raises(DownloadTimeoutError, match=r"longer than 0\.2 s"):
            download(slow)
        with pytest.raises(DownloadTimeoutError, match=r"longer than 1\.5 s"):
            download(server.url("/drip"), **{**IMPATIENT, "DOWNLOAD_SLOWEST_RATE": 0, "DOWNLOAD_TIMEOUT": 1.5})
