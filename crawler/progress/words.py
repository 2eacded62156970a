"""How are numbers, times and reasons said to a person?"""

from collections.abc import Mapping

from crawler.progress.snapshot import Snapshot


def count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def rate(per_second: float) -> str:
    return f"{per_second:,.1f}" if per_second < 100 else f"{per_second:,.0f}"


def clock_time(seconds: float) -> str:
    """``0:42``, ``12:05``, ``3:12:05``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def reasons(counts: Mapping[str, int], most: int = 4) -> str:
    """``3 dns · 1 timeout · 7 others``"""
    named = [f"{number:,} {name}" for name, number in list(counts.items())[:most]]
    others = sum(list(counts.values())[most:])
    return " · ".join([*named, f"{others:,} others"] if others else named)


def eta(snapshot: Snapshot) -> str:
    if snapshot.eta_seconds is None:
        return ""
    # Beyond a day the number says more about the last ten seconds than about the crawl.
    return "more than a day left" if snapshot.eta_seconds > 86_400 else f"{clock_time(snapshot.eta_seconds)} left"


def pages(snapshot: Snapshot) -> str:
    text = count(snapshot.pages, "page")
    return f"{snapshot.pages:,} of {snapshot.max_pages:,} pages" if snapshot.max_pages else text


def recrawls(snapshot: Snapshot, separator: str) -> str:
    numbers = ((snapshot.recrawls_waiting, "waiting"), (snapshot.unchanged, "unchanged"))
    return separator.join(f"{number:,} {what}" for number, what in numbers if number)


def hosts(snapshot: Snapshot, separator: str) -> str:
    numbers = (
        (snapshot.hosts_visited, "visited"),
        (snapshot.hosts_ready, "ready"),
        (snapshot.hosts_waiting, "waiting"),
    )
    return separator.join(f"{number:,} {what}" for number, what in numbers)
