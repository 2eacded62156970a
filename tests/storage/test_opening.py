"""Which store do settings mean?"""

from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawler import settings as defaults
from crawler.errors import ConfigurationError
from crawler.storage.opening import IN_DATA_DIR, StoreConfig, open_store
from crawler.storage.s3_place import S3Place
from tests.storage.stores import in_loop, make_page


def read(**changes: object) -> StoreConfig:
    settings = Settings()
    settings.setmodule(defaults)
    for name, value in {"STORE_URL": IN_DATA_DIR, "DATA_DIR": "./data", **changes}.items():
        settings.set(name, value)
    return StoreConfig.from_settings(settings)


def test_the_default_lies_in_the_data_directory_wherever_that_is(tmp_path):
    assert read().place == Path("data/store").absolute()
    assert read(DATA_DIR=str(tmp_path)).place == tmp_path / "store"
    assert read(DATA_DIR=str(tmp_path), STORE_URL="file:./elsewhere").place == Path("elsewhere").absolute()
    declared = [line for line in Path(defaults.__file__).read_text().splitlines() if line.startswith("STORE_URL = ")]
    assert declared == [f'STORE_URL = "{IN_DATA_DIR}"']


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("file:/a/b", Path("/a/b")),
        ("file:///a/b%20c", Path("/a/b c")),
        ("s3://my-bucket", S3Place("my-bucket")),
        ("s3://my-bucket/a/b/", S3Place("my-bucket", "a/b")),
    ],
)
def test_urls(url, place):
    assert read(STORE_URL=url).place == place


def test_another_server(tmp_path):
    place = read(STORE_URL="s3://my-bucket/x", S3_ENDPOINT_URL="http://127.0.0.1:8333/", S3_REGION="eu-west-1").place
    assert place == S3Place("my-bucket", "x", "http://127.0.0.1:8333", "eu-west-1")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"STORE_URL": "ftp://x/y"}, "file:./folder or s3://bucket"),
        ({"STORE_URL": "data"}, "file:./folder or s3://bucket"),
        ({"STORE_URL": "file:"}, "file:./folder"),
        ({"STORE_URL": "file://host/x"}, "file:./folder"),
        ({"STORE_URL": "s3://"}, "s3://bucket/prefix"),
        ({"STORE_URL": "s3://Bad_Bucket/x"}, "s3://bucket/prefix"),
        ({"STORE_URL": "s3://bucket/../x"}, "STORE_URL"),
        ({"STORE_URL": "s3://bucket/x", "S3_ENDPOINT_URL": "127.0.0.1:1"}, "http://host:port"),
        ({"STORE_FORMAT": "zip"}, "html or warc"),
        ({"STORE_SYNC": "perhaps"}, "STORE_SYNC"),
        ({"WARC_MAX_BYTES": "lots"}, "WARC_MAX_BYTES"),
    ],
)
def test_values_that_make_no_sense_are_told(changes, words):
    with pytest.raises(ConfigurationError) as raised:
        read(**changes)
    assert words in str(raised.value)


def test_a_key_in_an_address_is_refused_and_not_repeated():
    for changes in (
        {"STORE_URL": "s3://key:secret@bucket/x"},
        {"STORE_URL": "s3://bucket/x", "S3_ENDPOINT_URL": "https://key:secret@host/"},
    ):
        with pytest.raises(ConfigurationError) as raised:
            read(**changes)
        assert "secret@" not in str(raised.value)


@in_loop
async def test_a_store_is_opened_from_settings(tmp_path):
    for format_ in ("html", "warc"):
        settings = Settings({"DATA_DIR": str(tmp_path), "STORE_URL": IN_DATA_DIR, "STORE_FORMAT": format_,
                             "STORE_SYNC": True, "WARC_MAX_BYTES": 1000, "SPOOL_BYTES": 1024,
                             "S3_REQUESTS_AT_ONCE": 1})  # fmt: skip
        store = await open_store(settings)
        await store.put([make_page()])
        await store.close()
    assert {path.name for path in (tmp_path / "store").iterdir()} == {".tmp", "pages", "warc"}
