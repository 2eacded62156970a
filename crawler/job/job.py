"""How does one command become a crawl? Plants the seeds, runs the workers, tells a reporter, sums up.

Used by the commands ``crawl`` and ``demo``. Everything that lasts is in the frontier: a job can be killed at any
moment, and another one with the same crawl goes on where it ended.
"""

import asyncio
import contextlib
import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import cast

from crawler.errors import BadUrl, ConfigurationError, EngineUnavailable
from crawler.frontier.config import FrontierConfig
from crawler.frontier.frontier import Frontier
from crawler.frontier.messages import Status
from crawler.frontier.reasons import EXPLANATIONS
from crawler.frontier.scope import Scope
from crawler.frontier.seeds import Seed, plant, read_seed
from crawler.job.fleet import Fleet
from crawler.job.outcome import count_hosts, find_reason, last_event
from crawler.pipelines.config import KeepConfig
from crawler.progress.reporter import Reporter
from crawler.progress.snapshot import Meter
from crawler.progress.summary import Summary

POLL_SECONDS = 1.0
LAST_LOOK_SECONDS = 15.0  # Redis may be starting again
FINISHED, FAILED, INTERRUPTED = 0, 1, 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class JobPlan:
    config: FrontierConfig
    seeds: Sequence[Seed]
    workers: int
    worker_arguments: Sequence[str]
    continue_command: str  # empty: it cannot be continued
    program: str  # what the person typed: ./run or scrapy
    keep: KeepConfig
    engine_options: str = ""  # that commands about this crawl need as well

    @property
    def directory(self) -> Path:
        return self.config.data_dir / "crawls" / self.config.crawl


@dataclass(slots=True)
class _Interruption:
    """Once: stop; twice: kill."""

    plan: JobPlan
    reporter: Reporter
    fleet: Fleet
    times: int = field(default=0)

    def __call__(self) -> None:
        self.times += 1
        if self.times == 1:
            hint = f"; continue with: {self.plan.continue_command}" if self.plan.continue_command else ""
            self.reporter.say(f"Stopping, nothing is lost{hint}")
            self.fleet.stop()
        elif self.times == 2:
            self.reporter.say("Killing the workers; what they held is handed out again later.")
            self.fleet.kill()


def name_crawl(seeds: Sequence[Seed], now: datetime) -> str:
    """``example.org-20261118-1101``: a new one, that still says something in a year."""
    host = "".join(c if (c.isalnum() and c.isascii()) or c in ".-" else "-" for c in seeds[0].url.host).strip(".-")
    return f"{host[:60] or 'crawl'}-{now:%Y%m%d-%H%M%S}"


def read_seeds(texts: Iterable[str | bytes], reporter: Reporter) -> list[Seed]:
    """The good ones. Says what is wrong with the others."""
    seeds = []
    for text in texts:
        try:
            seeds.append(read_seed(text))
        except BadUrl as error:
            reporter.say(str(error))
    return seeds


async def run_job(plan: JobPlan, reporter: Reporter) -> int:
    """The exit status. Connects first, so that a missing Redis is one message, and not one of every worker."""
    frontier = await Frontier.open(plan.config)
    try:
        plan = await _allow_pages(frontier, plan)
        frontier.config = plan.config
        await _plant(frontier, plan, reporter)
        since, first = await last_event(frontier), await frontier.status()
        fleet = Fleet(plan.workers, plan.worker_arguments, plan.directory, reporter.say)
        meter = Meter(first, plan.config.max_pages)
        interruption = _Interruption(plan, reporter, fleet)
        with _on_signals(interruption):
            reporter.begin()
            try:
                failed = await _watch(frontier, reporter, fleet, meter)
            finally:
                reporter.end()
            status = await asyncio.wait_for(_status(frontier, reporter), LAST_LOOK_SECONDS)
            reason = "interrupted" if interruption.times else await find_reason(frontier, since, status)
            if failed and reason == "unknown":
                reason = "failed"
            reporter.finish(
                Summary(
                    meter.read(status, fleet.running),
                    reason,
                    hosts=await count_hosts(frontier),
                    pages_file=str(plan.directory / "pages.jsonl"),
                    program=plan.program,
                    continue_command=plan.continue_command,
                    engine_options=plan.engine_options,
                    logs=str(plan.directory),
                    example_url=plan.seeds[0].url.text if plan.seeds else "",
                    stored_in=plan.keep.store.name if plan.keep.store_pages else "",
                    indexed_in=plan.keep.index.url if plan.keep.index_pages else "",
                    spooled=_look_for_spooled(plan.keep),
                )
            )
    except TimeoutError:
        raise EngineUnavailable(f"Redis is away; when it is back, continue with: {plan.continue_command}") from None
    finally:
        await frontier.close()
    return {"interrupted": INTERRUPTED, "failed": FAILED, "unknown": FAILED}.get(reason, FINISHED)


def _look_for_spooled(keep: KeepConfig) -> str:
    """Where pages wait for an engine that is away; empty if none do."""
    spools = [keep.spool("store"), keep.spool("index")]
    return ", ".join(str(spool.directory) for spool in spools if not spool.is_empty())


async def _allow_pages(frontier: Frontier, plan: JobPlan) -> JobPlan:
    """Workers know one cap, that of the whole crawl. With RECRAWL it would be used up some day, and nothing be crawled
    again; so this run may fetch as many pages as it was given, on top of those of the runs before.
    """
    config = plan.config
    if not (config.recrawl and config.max_pages):
        return plan
    spent = await frontier.connection.client.hget(frontier.keys.budget, "spent")
    max_pages = config.max_pages + int(cast(bytes, spent or b"0"))
    return replace(
        plan,
        config=replace(config, max_pages=max_pages),
        worker_arguments=[*plan.worker_arguments, "-s", f"MAX_PAGES={max_pages}"],
    )


async def _plant(frontier: Frontier, plan: JobPlan, reporter: Reporter) -> None:
    known = bool(await frontier.connection.client.sismember(frontier.keys.crawls, frontier.keys.crawl))
    if not plan.seeds:
        if not known:
            raise ConfigurationError(f"there is no crawl {plan.config.crawl!r} to continue; give URLs to begin one")
        return
    planted = await plant(frontier, plan.seeds, Scope.from_config(plan.config))
    for url, reason in planted.refused:
        reporter.say(f"{url} is not crawled: {EXPLANATIONS[reason]}")
    if not planted.accepted and not planted.duplicates:
        raise ConfigurationError("none of the seeds can be crawled: see above")


async def _watch(frontier: Frontier, reporter: Reporter, fleet: Fleet, meter: Meter) -> int:
    """Until all workers have ended; answers how many failed for good."""
    work = asyncio.create_task(fleet.run())
    try:
        while not work.done():
            await asyncio.wait([work], timeout=POLL_SECONDS)
            if not work.done():
                looking = asyncio.create_task(_status(frontier, reporter))
                await asyncio.wait([work, looking], return_when=asyncio.FIRST_COMPLETED)
                if looking.done():
                    reporter.show(meter.read(looking.result(), fleet.running))
                else:
                    looking.cancel()  # Redis is away, and the workers are not waiting for it
    finally:
        if not work.done():
            fleet.kill()
            await asyncio.wait([work])
    return work.result()


async def _status(frontier: Frontier, reporter: Reporter) -> Status:
    return await frontier.connection.persist(frontier.status, reporter.say)


@contextlib.contextmanager
def _on_signals(interruption: _Interruption) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, interruption)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
