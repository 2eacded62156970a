"""What does somebody want to know when the crawl has ended, and what can they do next?"""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from crawler.frontier.reasons import EXPLANATIONS, Dead
from crawler.progress import words
from crawler.progress.snapshot import Snapshot

# Why a crawl ended. All but the last two are what a worker writes into the crawl's events.
REASONS = {
    "finished": "every reachable page was fetched",
    "max_pages": "it has the pages it was asked for",
    "drained": "it was drained: what was in flight was finished, the rest is still queued",
    "blocked": "only URLs of blocked hosts are left",
    "interrupted": "it was stopped; nothing is lost",
    "failed": "its workers failed",
    "unknown": "its workers ended without saying why",
}

# What to do when not one page was fetched, by what happened to most URLs.
_REMEDIES: dict[str, str] = {
    Dead.PRIVATE_ADDRESS: "The address is private or of this machine. If it is yours, add --allow-private.",
    Dead.ROBOTS: "robots.txt closes the site to crawlers. If the site is yours: -s ROBOTSTXT_OBEY=False",
    Dead.ROBOTS_UNREACHABLE: (
        "The site's robots.txt cannot be had, and without it no page may be fetched. Is the site up, and may this "
        "machine reach it? It is asked again after five minutes."
    ),
    Dead.DNS: "The host name does not resolve. Is it spelt right, and is this machine online?",
    Dead.CONNECTION: "No connection could be made. Is the site up, and may this machine reach it?",
    Dead.TIMEOUT: "The site did not answer. Is it up? A slow one may need -s DOWNLOAD_TIMEOUT=60",
    Dead.TLS: "The site's certificate is not acceptable. If you trust it anyway: -s DOWNLOAD_VERIFY_CERTIFICATES=False",
    Dead.HTTP_ERROR: "The site answered with errors only. Does the URL open in a browser?",
}


@dataclass(frozen=True, slots=True)
class Summary:
    snapshot: Snapshot
    reason: str  # one of REASONS
    hosts: int  # with at least one page
    pages_file: str
    program: str  # "./run" or "scrapy": what the person typed
    continue_command: str  # empty: it cannot be continued
    engine_options: str = ""  # that commands about this crawl need as well
    logs: str = ""  # where the workers' logs are
    example_url: str = ""  # a seed, for the next steps
    stored_in: str = ""  # empty: pages are not stored
    indexed_in: str = ""  # empty: pages are not indexed
    spooled: str = ""  # where pages wait for an engine that is away

    @property
    def explanation(self) -> str:
        text = REASONS.get(self.reason, self.reason)
        if self.reason == "finished" and self.snapshot.dead and not self.snapshot.pages:
            text = "no page can be reached"
        waiting = self.snapshot.recrawls_waiting
        if self.reason == "finished" and waiting:
            text += f"; {words.count(waiting, 'page waits', 'pages wait')} to be crawled again"
        return text


def render(summary: Summary) -> Iterator[Text]:
    """Line by line. Styles are for terminals; the words alone say everything."""
    snapshot = summary.snapshot
    yield Text()
    yield Text.assemble((f"{_verdict(summary)}: ", "bold"), summary.explanation)
    if snapshot.new_pages == 0:
        for line in _nothing_fetched(summary):
            yield Text(line, style="bold yellow")
    yield Text()
    yield _row("pages", _pages(summary))
    if snapshot.recrawls_waiting or snapshot.unchanged:
        yield _row("recrawl", words.recrawls(snapshot, ", "))
    yield _row("sum", _sum(snapshot))
    yield from _table("failed", snapshot.errors)
    yield from _table("dropped", snapshot.dropped)
    if snapshot.pages:
        yield _row("pages in", summary.stored_in or summary.pages_file)
        if summary.indexed_in:
            yield _row("index in", summary.indexed_in)
    if summary.spooled:
        waiting = "some pages wait for an engine that is away; the next worker delivers them, and so does"
        yield _row("spooled", f"{summary.spooled}: {waiting} {summary.program} spool drain")
    if summary.reason in {"failed", "unknown"}:
        yield _row("logs in", summary.logs)
    yield Text()
    yield from _next_steps(summary)


def _verdict(summary: Summary) -> str:
    if summary.reason in {"failed", "unknown"}:
        return "Failed"
    return "Stopped" if summary.reason in {"interrupted", "drained", "blocked"} else "Done"


def _nothing_fetched(summary: Summary) -> Iterator[str]:
    snapshot = summary.snapshot
    if summary.reason == "max_pages":
        yield f"It already had {words.count(snapshot.pages, 'page')}: give a larger --max-pages to go on."
    elif snapshot.unchanged:
        yield f"{words.count(snapshot.unchanged, 'page was', 'pages were')} asked for again, and none had changed."
    elif summary.reason == "finished" and snapshot.recrawls_waiting:
        yield "Nothing was due: its pages were fetched earlier."
    elif summary.reason == "finished" and snapshot.pages:
        yield "Nothing was left to fetch: its pages were fetched earlier."
    elif snapshot.errors and not snapshot.pages:
        most = next(iter(snapshot.errors))
        yield "Not one page was fetched."
        yield _REMEDIES.get(most, f"Most URLs failed: {EXPLANATIONS.get(most, most)}.")


def _pages(summary: Summary) -> str:
    snapshot = summary.snapshot
    text = (
        f"{snapshot.new_pages:,} in {words.clock_time(snapshot.elapsed_seconds)}"
        f" ({words.rate(snapshot.mean_pages_per_second)}/s)"
    )
    if snapshot.pages != snapshot.new_pages:
        text += f", {snapshot.pages:,} in all"
    return f"{text}, from {words.count(summary.hosts, 'host')}"


def _sum(snapshot: Snapshot) -> str:
    return (
        f"{snapshot.accepted:,} accepted = {snapshot.queued:,} queued + {snapshot.leased:,} leased"
        f" + {snapshot.done:,} done + {snapshot.dead:,} dead"
    )


def _table(title: str, counts: dict[str, int]) -> Iterator[Text]:
    for number, (reason, amount) in enumerate(counts.items()):
        yield _row("" if number else title, f"{amount:>7,}  {reason}: {EXPLANATIONS.get(reason, reason)}")


def _row(name: str, text: str) -> Text:
    return Text.assemble((f"  {name:<10}", "dim"), text)


def _next_steps(summary: Summary) -> Iterator[Text]:
    program, crawl = summary.program, " ".join([summary.snapshot.crawl, summary.engine_options]).rstrip()
    url = shlex.quote(summary.example_url) if summary.example_url else "URL"
    steps = [
        (f"{program} frontier status --crawl {crawl}", "how it stands"),
        (f"{program} frontier why {url} --crawl {crawl}", "what became of a URL"),
    ]
    options = f" {summary.engine_options}" if summary.engine_options else ""
    if summary.snapshot.pages and summary.stored_in:
        steps.insert(0, (f"{program} page {url}{options}", "a page as it was fetched"))
    if summary.snapshot.pages and summary.indexed_in:
        steps.insert(0, (f'{program} search "some words"{options}', "pages by their text"))
    if summary.snapshot.dead:
        steps.insert(1, (f"{program} frontier failures --crawl {crawl}", "what failed, and how"))
    if summary.snapshot.state in {"paused", "draining"}:
        steps.append((f"{program} frontier resume --crawl {crawl}", f"it is {summary.snapshot.state}"))
    if summary.continue_command and (summary.snapshot.queued or summary.reason in {"failed", "unknown"}):
        only_recrawls = summary.snapshot.queued == summary.snapshot.recrawls_waiting > 0
        steps.append((summary.continue_command, "go on with what is due by then" if only_recrawls else "go on"))
    yield Text("Next:", style="bold")
    for command, purpose in steps:
        yield Text.assemble("  ", (command, "cyan"), (f"   # {purpose}", "dim"))
