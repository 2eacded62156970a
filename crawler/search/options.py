"""Which options of a command choose pages? The same for ``search`` and ``export``, and the same as in a query."""

import argparse

from crawler.errors import BadQuery, ConfigurationError
from crawler.search.query import Filters
from crawler.search.restrictions import Restrictions


def add_filter_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--site", action="append", default=[], metavar="HOST", help="only this host and those below")
    parser.add_argument("--lang", action="append", default=[], metavar="CODE", help="only this language: de, en, …")
    parser.add_argument("--after", metavar="DATE", help="fetched on or after: 2026, 2026-01, 2026-01-31")
    parser.add_argument("--before", metavar="DATE", help="fetched before such a date")


def read_filters(opts: argparse.Namespace) -> Filters:
    """With ``--crawl``."""
    chosen = Restrictions()
    for name in ("site", "lang", "after", "before", "crawl"):
        given = getattr(opts, name)
        for value in given if isinstance(given, list) else [given]:
            try:
                if value is not None:
                    chosen.add(name, value)
            except BadQuery as error:
                raise ConfigurationError(str(error)) from None
    return chosen.filters()
