"""What S3 adds: metadata, encryption, checksums; and what it takes away when it is ill."""

import dataclasses
import gzip
import json
import logging
import os
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from crawler.errors import EngineError, EngineRefused, EngineUnavailable
from crawler.storage.opening import build_store
from crawler.storage.s3_place import S3Place
from tests.servers import free_port
from tests.storage.proxy import TroubleProxy
from tests.storage.seaweed import ACCESS_KEY, BUCKET, SECRET_KEY, WRITER_KEY, WRITER_SECRET
from tests.storage.stores import NOON, configure, in_loop, listed, make_page, opened


@pytest.fixture
def proxy(s3_server) -> Iterator[TroubleProxy]:
    with TroubleProxy(s3_server.port) as proxy:
        yield proxy


@pytest.fixture
def ill_place(s3_place: S3Place, proxy: TroubleProxy) -> S3Place:
    return dataclasses.replace(s3_place, endpoint_url=proxy.url)


@in_loop
async def test_an_object_says_what_it_is_and_is_encrypted_and_checked(s3_server, s3_place, tmp_path):
    page = make_page("https://a.example/é/" + "x" * 2000, b"<p>" + b"z" * 20_000_000, charset="utf-8", crawl="grüße")
    small = make_page("https://a.example/small", status=404)
    async with opened(configure(s3_place, tmp_path)) as store:
        await store.put([page, small])
    client = s3_server.client()
    head = client.head_object(Bucket=BUCKET, Key=f"{s3_place.prefix}/{small.info.key}", ChecksumMode="ENABLED")
    assert (head["ContentType"], head["ContentEncoding"]) == ("text/html; charset=utf-8", "gzip")
    assert head["ServerSideEncryption"] == "AES256"
    assert head["ChecksumSHA256"]
    assert {**head["Metadata"], "writer": ""} == {
        "url": "https://a.example/small", "status": "404", "fetched_at": str(NOON), "sha256": small.info.sha256,
        "content_type": "text/html; charset=utf-8", "charset": "utf-8", "crawl": "test", "writer": "",
    }  # fmt: skip
    large = client.get_object(Bucket=BUCKET, Key=f"{s3_place.prefix}/{page.info.key}")
    assert large["Metadata"]["url"].startswith("https://a.example/?/xxx")
    assert sum(len(name) + len(value) for name, value in large["Metadata"].items()) < 2048
    assert gzip.decompress(large["Body"].read()) == page.body


@in_loop
async def test_large_files_go_in_parts(s3_server, s3_place, tmp_path):
    async with opened(configure(s3_place, tmp_path)) as store:
        await store.put_file("backups/large", b"0123456789" * 2_000_000)
        assert await store.get_file("backups/large") == b"0123456789" * 2_000_000
    head = s3_server.client().head_object(Bucket=BUCKET, Key=f"{s3_place.prefix}/backups/large")
    assert head["ETag"].strip('"').endswith("-3")
    assert head["ServerSideEncryption"] == "AES256"


@in_loop
async def test_503_for_a_moment_is_waited_out(ill_place, proxy, tmp_path):
    page = make_page()
    async with opened(configure(ill_place, tmp_path)) as store:
        proxy.refuse_next = 2
        await store.put([page])
        assert proxy.refuse_next == 0
        assert await store.find(page.info.id) == page


@in_loop
async def test_503_for_longer_is_told_and_the_pages_can_be_put_again(ill_place, proxy, tmp_path):
    pages = [make_page(f"https://a.example/{number}") for number in range(5)]
    async with opened(configure(ill_place, tmp_path)) as store:
        proxy.refuse_next = -1
        with pytest.raises(EngineUnavailable, match="503 SlowDown"):
            await store.put(pages)
        with pytest.raises(EngineUnavailable, match="503 SlowDown"):
            await store.find(pages[0].info.id)
        proxy.refuse_next = 0
        await store.put(pages)
        assert len(await listed(store)) == 5


@in_loop
async def test_what_is_large_has_time_on_a_thin_line(ill_place, proxy, tmp_path, monkeypatch):
    """A server that says nothing while a small page is sent is ill; while much is sent, it has nothing to say yet."""
    monkeypatch.setattr("crawler.storage.s3.SILENCE_SECONDS", 0.5)
    page, part = make_page(body=os.urandom(4_000_000)), tmp_path / "part"
    part.write_bytes(os.urandom(20_000_000))
    async with opened(configure(ill_place, tmp_path)) as store:
        proxy.bytes_per_second = 4_000_000
        await store.put([page])
        await store.objects.upload(part, "backups/part")
        proxy.bytes_per_second = 0
        assert await store.find(page.info.id) == page
        assert await store.get_file("backups/part") == part.read_bytes()
        proxy.delay_seconds = 1.0
        with pytest.raises(EngineUnavailable):
            await store.put([make_page("https://a.example/small")])


@in_loop
async def test_a_write_whose_answer_was_lost_leaves_one_object(s3_server, ill_place, proxy, tmp_path):
    page = make_page()
    async with opened(configure(ill_place, tmp_path)) as store:
        proxy.lose_next = 1
        for _ in range(3):
            try:
                await store.put([page])
                break
            except EngineUnavailable:  # then whoever puts pages puts them again
                pass
        assert proxy.lose_next == 0
        assert await listed(store) == [page.info]
        assert await store.find(page.info.id) == page
    listing = s3_server.client().list_objects_v2(Bucket=BUCKET, Prefix=f"{ill_place.prefix}/pages/")
    assert [entry["Key"] for entry in listing["Contents"]] == [f"{ill_place.prefix}/{page.info.key}"]


@in_loop
async def test_who_wins_learns_it_even_when_the_answer_was_lost(ill_place, proxy, tmp_path):
    async with opened(configure(ill_place, tmp_path)) as store:
        proxy.lose_next = 1
        assert await store.put_file("locks/a", b"mine", only_if_absent=True)
        assert proxy.lose_next == 0
        assert not await store.put_file("locks/a", b"mine", only_if_absent=True)


@pytest.mark.parametrize(
    ("variable", "value", "words"),
    [
        ("AWS_SECRET_ACCESS_KEY", "wrong-secret-of-somebody", "check AWS_SECRET_ACCESS_KEY"),
        ("AWS_ACCESS_KEY_ID", "nobody", "check AWS_ACCESS_KEY_ID|this key may not"),
    ],
)
@in_loop
async def test_wrong_keys_are_told_before_the_crawl(s3_place, tmp_path, monkeypatch, caplog, variable, value, words):
    monkeypatch.setenv(variable, value)
    caplog.set_level(logging.INFO)
    with pytest.raises(EngineRefused, match=words) as raised:
        async with opened(configure(s3_place, tmp_path)):
            pass
    for text in (repr(raised.value), caplog.text):
        assert SECRET_KEY not in text
        assert "wrong-secret" not in text


@in_loop
async def test_keys_that_are_wrong_later_are_told_too(s3_place, tmp_path, monkeypatch):
    async with opened(configure(s3_place, tmp_path)):
        pass
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong-secret-of-somebody")
    store = build_store(configure(s3_place, tmp_path))
    with pytest.raises(EngineRefused, match=r"SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY"):
        await store.put([make_page()])


@in_loop
async def test_no_keys_at_all_are_told(s3_place, tmp_path, monkeypatch):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(EngineRefused, match="AWS_ACCESS_KEY_ID"):
        async with opened(configure(s3_place, tmp_path)):
            pass


@pytest.fixture
def role(s3_place, monkeypatch) -> Iterator[datetime]:
    """This machine has a role: a server on loopback hands out keys that expire then."""
    expires = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=11)
    keys = {"AccessKeyId": ACCESS_KEY, "SecretAccessKey": SECRET_KEY, "Token": "", "Expiration": f"{expires:%FT%TZ}"}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(keys).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", f"http://127.0.0.1:{server.server_port}/")
        yield expires
        server.shutdown()


@in_loop
async def test_keys_of_a_role_are_not_used_after_they_expired(s3_place, tmp_path, role):
    async with opened(configure(s3_place, tmp_path)) as store:
        await store.put([make_page()])
        used = store.objects._clients[False].credential_provider()
        assert used["access_key_id"] == ACCESS_KEY
        assert used["expires_at"] <= role


@in_loop
async def test_keys_that_are_mended_in_their_file_are_used(s3_place, tmp_path, monkeypatch):
    def write(secret: str) -> None:
        text = f"[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {secret}\n"
        (tmp_path / "credentials").write_text(text)

    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    store = build_store(configure(s3_place, tmp_path))
    write("that-of-yesterday")
    with pytest.raises(EngineRefused, match="SignatureDoesNotMatch"):
        await store.put([make_page()])
    write(SECRET_KEY)
    await store.put([make_page()])


@in_loop
async def test_a_bucket_that_is_not_there_is_told_or_made(s3_server, s3_place, tmp_path):
    missing = dataclasses.replace(s3_place, bucket="no-such-bucket")
    with pytest.raises(EngineRefused, match=r"no such bucket.*S3_CREATE_BUCKET"):
        async with opened(configure(missing, tmp_path)):
            pass
    async with opened(configure(dataclasses.replace(missing, create_bucket=True), tmp_path)) as store:
        await store.put([make_page()])
    rules = s3_server.client().get_bucket_lifecycle_configuration(Bucket="no-such-bucket")["Rules"]
    assert [rule["ID"] for rule in rules] == ["abandoned-uploads"]
    s3_server.client().delete_object(Bucket="no-such-bucket", Key=f"{missing.prefix}/write-check")
    s3_server.client().delete_object(Bucket="no-such-bucket", Key=f"{missing.prefix}/{make_page().info.key}")
    s3_server.client().delete_bucket(Bucket="no-such-bucket")


@in_loop
async def test_a_key_without_the_right_to_write_is_refused(s3_place, tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", WRITER_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", WRITER_SECRET)
    with pytest.raises(EngineRefused, match="policies"):
        async with opened(configure(s3_place, tmp_path)):
            pass


@in_loop
async def test_a_server_that_is_not_there_may_come(s3_place, tmp_path):
    gone = dataclasses.replace(s3_place, endpoint_url=f"http://127.0.0.1:{free_port()}")
    with pytest.raises(EngineUnavailable, match="does not answer"):
        async with opened(configure(gone, tmp_path)):
            pass
    with pytest.raises(EngineUnavailable, match="does not answer"):
        await build_store(configure(gone, tmp_path)).put([make_page()])


@in_loop
async def test_a_damaged_object_is_told_and_does_not_end_a_listing(s3_server, s3_place, tmp_path):
    good, bad, empty = (make_page(f"https://a.example/{number}") for number in range(3))
    async with opened(configure(s3_place, tmp_path)) as store:
        await store.put([good, bad, empty])
        client = s3_server.client()
        client.put_object(Bucket=BUCKET, Key=f"{s3_place.prefix}/{bad.info.key}", Body=b"\x1f\x8b\x08 not a page")
        client.put_object(Bucket=BUCKET, Key=f"{s3_place.prefix}/{empty.info.key}", Body=b"")
        for page in (bad, empty):
            with pytest.raises(EngineError, match=r"damaged|none of ours"):
                await store.find(page.info.id)
        assert await listed(store) == [good.info]
        await store.put([bad])  # what is no page gives way to one
        assert await store.find(bad.info.id) == bad
