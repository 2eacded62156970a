"""Which engine does INDEX_URL mean?"""

from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawler.errors import ConfigurationError
from crawler.search.embedded import EmbeddedIndex
from crawler.search.opening import IndexConfig, open_index


def test_a_directory_is_the_embedded_engine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = IndexConfig.from_url("file:./data/index")
    assert (config.engine, config.path) == ("file", tmp_path / "data/index")
    assert config.url == f"file:{tmp_path}/data/index"
    assert isinstance(open_index(config), EmbeddedIndex)
    assert IndexConfig.from_url("file:///var/index").path == Path("/var/index")


def test_servers(tmp_path):
    config = IndexConfig.from_url("elasticsearch+https://me:s%40crt@search.example:9243/my-pages")
    assert (config.engine, config.server, config.name) == ("elasticsearch", "https://search.example:9243", "my-pages")
    assert (config.user, config.password) == ("me", "s@crt")
    assert config.url == "elasticsearch+https://search.example:9243/my-pages"
    assert "s@crt" not in repr(config)
    config = IndexConfig.from_url("opensearch+http://[::1]")
    assert (config.engine, config.server, config.name, config.user) == ("opensearch", "http://[::1]:9200", "pages", "")


@pytest.mark.parametrize(
    "url",
    [
        "", "index", "file:", "http://u:hunter2@h/", "elasticsearch://u:hunter2@h/", "elasticsearch+ftp://u:hunter2@h/",
        "elasticsearch+https://u:hunter2@/pages", "elasticsearch+https://u:hunter2@h:port/", "opensearch+http:",
        "opensearch+http://u:hunter2@h/Pages", "opensearch+http://u:hunter2@h/a/b", "opensearch+http://u:hunter2@h/_all",
        "opensearch+http://u:hunter2@h/a?b", "opensearch+http://u:hunter2@[h/a", "opensearch+http://u:hunter2@h:99999/a",
    ],
)  # fmt: skip
def test_bad_urls_are_told_without_the_password(url):
    with pytest.raises(ConfigurationError, match="INDEX_URL") as caught:
        IndexConfig.from_url(url)
    assert "hunter2" not in str(caught.value)


def test_settings_are_read(tmp_path):
    settings = Settings()
    settings.setmodule("crawler.settings")
    settings.set("INDEX_URL", f"file:{tmp_path}")
    settings.set("INDEX_BATCH_DOCUMENTS", "7")
    config = IndexConfig.from_settings(settings)
    assert (config.path, config.batch_documents, config.ca_file) == (tmp_path, 7, None)
    for name, value in {"INDEX_HEAP_BYTES": 1000, "INDEX_TIMEOUT_SECONDS": "soon", "INDEX_URL": ""}.items():
        bad = settings.copy()
        bad.set(name, value)
        with pytest.raises(ConfigurationError, match=name):
            IndexConfig.from_settings(bad)
