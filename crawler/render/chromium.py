"""Is there a browser? Asked before a crawl that renders begins, and again when it is started."""

import shutil

from scrapy.crawler import Crawler
from scrapy.exceptions import NotConfigured

from crawler.configuration import SettingsReader
from crawler.errors import ConfigurationError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium(given: str) -> str:
    found = shutil.which(given) if given else next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        what = f"RENDER_BROWSER is {given!r}, which is no program here" if given else "there is no chromium in PATH"
        raise ConfigurationError(f"pages cannot be rendered: {what}; on Debian or Ubuntu: apt install chromium")
    return found


class BrowserCheck:
    """An extension: those are made before anything is fetched, and what they raise stops the crawl."""

    def __init__(self, crawler: Crawler) -> None:
        read = SettingsReader(crawler.settings)
        if not (read.flag("RENDER") or read.flag("RENDER_AUTO")):
            raise NotConfigured
        find_chromium(crawler.settings.get("RENDER_BROWSER") or "")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "BrowserCheck":
        return cls(crawler)
