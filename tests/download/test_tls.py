"""Is a certificate looked at, and is it said what is wrong with it?"""

import asyncio
import contextlib
import datetime
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from scrapy import Request

from crawler.download.errors import TlsFailed
from crawler.frontier.reasons import Dead
from crawler.middlewares.outcome import _classify
from tests.download.downloads import download, make_crawler, open_handler, run
from tests.download.hostile import PAGE, HostileServer

YESTERDAY = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[trustme.CA]:
    """The one that the crawler trusts."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return authority


def serve(certificate: trustme.LeafCert) -> HostileServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate.configure_cert(context)
    return HostileServer(context)


def test_a_good_certificate_comes_with_the_response(authority: trustme.CA):
    with serve(authority.issue_cert("localhost", "127.0.0.1")) as server:
        for host in ("localhost", "127.0.0.1"):
            response = download(server.url("/good", host))
            assert response.body == PAGE
            assert isinstance(response.certificate, bytes)


@pytest.mark.parametrize("fault", ["expired", "self-signed", "another name", "another address", "unknown authority"])
def test_a_bad_certificate_is_final_and_says_what_is_wrong(authority: trustme.CA, fault: str, tmp_path: Path):
    host = "localhost" if fault == "another name" else "127.0.0.1"
    if fault == "expired":
        certificate = authority.issue_cert("127.0.0.1", not_after=YESTERDAY)
    elif fault in {"another name", "another address"}:
        certificate = authority.issue_cert("example.org", "192.0.2.1")
    else:
        certificate = trustme.CA().issue_cert("127.0.0.1")
    server = self_signed(tmp_path) if fault == "self-signed" else serve(certificate)
    with server:
        with pytest.raises(TlsFailed, match=fault) as caught:
            download(server.url("/good", host))
        assert download(server.url("/good", host), DOWNLOAD_VERIFY_CERTIFICATES=False).body == PAGE
    assert _classify(caught.value) == (Dead.TLS, True)


def self_signed(directory: Path) -> HostileServer:
    """An authority's own certificate is signed by itself."""
    itself = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    itself.cert_pem.write_to_path(directory / "itself.pem")
    itself.private_key_pem.write_to_path(directory / "itself.pem", append=True)
    context.load_cert_chain(directory / "itself.pem")
    return HostileServer(context)


def test_a_proxy_is_asked_for_a_tunnel_and_does_not_see_the_request(authority: trustme.CA):
    asked: list[bytes] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        port = int(asked[0].split()[1].rpartition(b":")[2])
        there, back = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await asyncio.gather(copy(reader, back), copy(there, writer))

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
        writer.close()

    async def work() -> None:
        proxy = await asyncio.start_server(tunnel, "127.0.0.1", 0)
        request = Request(server.url("/good", "somewhere.example"), headers={"Proxy-Authorization": "Basic dTpw"})
        request.meta["proxy"] = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}"
        async with open_handler(make_crawler()) as handler:
            assert (await handler.download_request(request)).body == PAGE
        proxy.close()

    with serve(authority.issue_cert("somewhere.example")) as server:
        run(work)
        assert b"Basic dTpw" in asked[0]
        assert b"/good" not in asked[0]
        assert b"Basic" not in server.requests[0]


def test_a_server_that_speaks_no_tls():
    with HostileServer(hangs_up=True) as server:
        with pytest.raises(Exception, match=r"TLS failed|connection broke|Cannot connect") as caught:
            download(server.url("/").replace("http:", "https:"))
        assert _classify(caught.value)[0] in {Dead.TLS, Dead.CONNECTION}
