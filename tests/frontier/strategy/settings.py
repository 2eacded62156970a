"""The project's own settings, with a test's changes."""

from typing import Any

from scrapy.settings import Settings


def make_settings(**changes: Any) -> Settings:
    settings = Settings()
    settings.setmodule("crawler.settings")
    settings.setdict(changes, priority="cmdline")
    return settings
