"""What has this worker to tell the frontier? Links found and URLs ended, collected until the next flush.

The order of a flush is what makes a crash harmless: the links of a page are pushed before the page is acked. If the
worker dies in between, the page is fetched again and its links are found to be known.
"""

import logging
import math
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from crawler.errors import BadUrl
from crawler.frontier.dupefilter import DupeFilter, Verdict
from crawler.frontier.entry import (
    Entry,
    RequestFields,
    encode,
    identity,
    page_fingerprint,
    random_fingerprint,
)
from crawler.frontier.frontier import Frontier
from crawler.frontier.leases import Death, GoBack, Holdings, Lease, OpenVisit, Redirect, Retry
from crawler.frontier.messages import Link, VisitReport
from crawler.frontier.reasons import Dead, Drop
from crawler.frontier.recrawl import Again, Recrawl
from crawler.frontier.scope import Scope
from crawler.frontier.strategy.links import Candidate, Extra, Page
from crawler.frontier.strategy.runner import StrategyRunner
from crawler.urls import Url, canonicalise

logger = logging.getLogger(__name__)

STRATEGY_META = "strategy"  # what a strategy left in the meta of a URL, for the page that comes of it
PUSH_BATCH = 500  # links in one script call: some milliseconds, in which Redis does nothing else


@dataclass(slots=True)
class FoundLinks:
    page: Page
    candidates: list[Candidate] = field(default_factory=list)
    fingerprints: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Ended:
    """How leased URLs ended since the last flush."""

    reports: dict[str, VisitReport] = field(default_factory=dict)
    pages: int = 0
    others: int = 0  # ended or went back without having been a page


class Outbox:
    def __init__(
        self, frontier: Frontier, filter_: DupeFilter, scope: Scope, strategy: StrategyRunner, holdings: Holdings
    ) -> None:
        self._frontier = frontier
        self._filter = filter_
        self._scope = scope
        self._strategy = strategy
        self._holdings = holdings
        self._recrawl = Recrawl(frontier.config)
        self._found: list[FoundLinks] = []
        self._links: list[Link] = []
        self._pending: set[int] = set()  # fingerprints on their way out, so that a menu is sent once
        self._perhaps: set[int] = set()
        self._ended = Ended()
        self.drops: Counter[str] = Counter()
        self.false_positives = 0
        self.pages = 0

    @property
    def is_empty(self) -> bool:
        return not (self._found or self._links or self._ended.reports or self.drops)

    @property
    def unacked(self) -> int:
        return self._ended.pages + self._ended.others

    # --- Links in --------------------------------------------------------------------------------

    def add_links(self, page: Page, urls: Sequence[Url]) -> list[int]:
        """Answers the fingerprints of those that are not known to be known."""
        depth = page.depth + 1
        found = FoundLinks(page)
        for url in urls:
            reason = self._scope.refuse_place(url, depth)
            if reason is None:
                # Most links are known: this is asked before the rules on the URL's text, which cost more.
                fingerprint = url.fingerprint
                reason = Drop.DUPLICATE if self._is_known(fingerprint) else self._scope.refuse_text(url)
            if reason:
                self.drops[reason] += 1
                continue
            self._pending.add(fingerprint)
            found.candidates.append(Candidate(url.text, url.host, depth))
            found.fingerprints.append(fingerprint)
        if found.candidates or not self._strategy.is_fast:
            self._found.append(found)
        return found.fingerprints

    def add_link(self, link: Link) -> bool:
        """A request whose priority is decided already. Answers False if it is known."""
        if self._is_known(link.fingerprint):
            self.drops[Drop.DUPLICATE] += 1
            return False
        self._pending.add(link.fingerprint)
        self._links.append(link)
        return True

    def _is_known(self, fingerprint: int) -> bool:
        verdict = Verdict.SEEN if fingerprint in self._pending else self._filter.look_up(fingerprint)
        if verdict is Verdict.PERHAPS:
            self._perhaps.add(fingerprint)
        return verdict is Verdict.SEEN

    # --- Endings in ------------------------------------------------------------------------------

    def end(self, lease: Lease) -> None:
        """The engine is done with the lease's request."""
        if lease.is_finished:
            return
        lease.is_finished = True
        self._holdings.remove(lease)
        if lease.visit.is_lost:
            self._ended.others += 1
            return
        report = self._report_of(lease.visit)
        outcome = lease.outcome
        if isinstance(outcome, Redirect):
            outcome = self._follow(lease, outcome)
        elif outcome is None and not lease.is_answered:
            outcome = Death(Dead.IGNORED, "no response reached the spider")
        if isinstance(outcome, Retry):
            again = Entry(
                url=lease.entry.url, depth=lease.entry.depth, attempt=lease.entry.attempt + 1,
                redirects=lease.entry.redirects, request=lease.entry.request, known=lease.entry.known,
            )  # fmt: skip
            report.retries.append(
                (lease.id, int(outcome.delay_seconds * 1000), encode(again, lease.id, lease.visit.host))
            )
        elif isinstance(outcome, GoBack):
            report.back.append(lease.id)
        elif recrawl := self._plan_recrawl(lease, outcome):
            raw = encode(recrawl.entry, lease.id, lease.visit.host)
            report.again.append((lease.id, recrawl.delay_ms, raw, recrawl.ended))
        elif isinstance(outcome, Death):
            report.dead.append((lease.id, outcome.reason, outcome.detail[:500]))
        elif lease.is_page:
            report.pages.append(lease.id)
        else:
            report.done.append(lease.id)
        if lease.is_page and outcome is None:
            self._ended.pages += 1
            self.pages += 1
        else:
            self._ended.others += 1

    def _plan_recrawl(self, lease: Lease, outcome: Death | None) -> Again | None:
        if not self._frontier.config.recrawl:
            return None
        if outcome is not None:
            return self._recrawl.plan_missed(lease.entry, outcome.reason, outcome.detail)
        if lease.recrawl is None or lease.recrawl.is_page != lease.is_page:  # what reached the spider is something else
            return None
        return self._recrawl.plan(lease.entry, lease.recrawl)

    def give_back(self, lease: Lease) -> None:
        """Not fetched, and not going to be: somebody else may have it."""
        lease.is_finished = True
        self._holdings.remove(lease)
        self._ended.others += 1
        if not lease.visit.is_lost:
            self._report_of(lease.visit).back.append(lease.id)

    def end_robots(self, visit: OpenVisit, known_seconds: float, delay_seconds: float) -> None:
        report = self._report_of(visit)
        report.robots_ms = int(known_seconds * 1000)
        report.interval_ms = math.ceil(delay_seconds * 1000)

    def bury(self, visit: OpenVisit, id_: bytes, reason: str, detail: str) -> None:
        """An entry that could not even become a request."""
        self._report_of(visit).dead.append((id_, reason, detail[:500]))
        self._ended.others += 1

    def _report_of(self, visit: OpenVisit) -> VisitReport:
        report = self._ended.reports.get(visit.fence)
        fresh = visit.report(time.monotonic())
        if report is None:
            report = self._ended.reports[visit.fence] = fresh
        else:
            report.merge(fresh)
        return report

    def _follow(self, lease: Lease, redirect: Redirect) -> Death | None:
        """The target is a link like any other, as deep as the page that it stands for."""
        try:
            target = canonicalise(redirect.url)
        except BadUrl as error:
            return Death(Dead.BAD_REDIRECT, str(error))
        if lease.entry.depth == 0:  # who seeds example.com means www.example.com too
            reason = self._scope.refuse_seed(target)
            if not reason:
                self._scope.add_seed_host(target.host)
        else:
            reason = self._scope.refuse_link(target, lease.entry.depth)
        if reason:
            self.drops[reason] += 1
            return None if reason != Drop.PRIVATE_ADDRESS else Death(Dead.PRIVATE_ADDRESS, target.text)
        entry = Entry(
            url=target.text, depth=lease.entry.depth, redirects=lease.entry.redirects + 1, request=redirect.fields
        )
        number = _redirect_fingerprint(target, redirect.fields)
        raw = encode(entry, identity(number), target.host)
        self.add_link(Link(target.host, lease.visit.visit.priority, 0.5, number, raw))
        return None

    # --- Out -------------------------------------------------------------------------------------

    async def push(self) -> int:
        """Answers how many links were new."""
        found, links = self._found, self._links
        self._found, self._links = [], []
        perhaps, self._perhaps = self._perhaps, set()
        try:
            known = await self._confirm(found, links, perhaps)
            links = [link for link in links if link.fingerprint not in known]
            for page_links in found:
                links += self._score(page_links, known)
            accepted = 0
            for start in range(0, len(links), PUSH_BATCH):
                batch = links[start : start + PUSH_BATCH]
                answers = await self._frontier.push(batch)
                for link, answer in zip(batch, answers, strict=True):
                    accepted += answer == 1
                    if answer != 2:  # a host that has its pages may get a higher cap later
                        self._filter.remember(link.fingerprint)
        except BaseException:
            self._found, self._links = found + self._found, links + self._links
            self._perhaps |= perhaps
            raise
        self._pending = {link.fingerprint for link in self._links}
        for page_links in self._found:  # arrived while we waited for Redis
            self._pending.update(page_links.fingerprints)
        return accepted

    async def _confirm(self, found: list[FoundLinks], links: list[Link], perhaps: set[int]) -> set[int]:
        """Those of the perhaps seen that Redis has, for certain."""
        asked = [(link.host, link.fingerprint) for link in links if link.fingerprint in perhaps]
        for page_links in found:
            for candidate, fingerprint in zip(page_links.candidates, page_links.fingerprints, strict=True):
                if fingerprint in perhaps:
                    asked.append((candidate.host, fingerprint))
        known: set[int] = set()
        for start in range(0, len(asked), PUSH_BATCH):
            batch = asked[start : start + PUSH_BATCH]
            answers = await self._frontier.confirm_seen([host for host, _ in batch], [number for _, number in batch])
            for (_, fingerprint), is_seen in zip(batch, answers, strict=True):
                if is_seen:
                    known.add(fingerprint)
                    self._filter.remember(fingerprint)
                    self.drops[Drop.DUPLICATE] += 1
                else:
                    self.false_positives += 1
                    logger.debug("False positive of the Bloom filter: %d is new", fingerprint)
        return known

    def _score(self, found: FoundLinks, known: set[int]) -> list[Link]:
        candidates, fingerprints = found.candidates, found.fingerprints
        if known:
            fresh = [i for i, fingerprint in enumerate(fingerprints) if fingerprint not in known]
            candidates = [candidates[i] for i in fresh]
            fingerprints = [fingerprints[i] for i in fresh]
        links = []
        answer = self._strategy.score_links(found.page, candidates)
        for candidate, fingerprint, score in zip(candidates, fingerprints, answer.scores, strict=True):
            if score is None:
                self.drops[Drop.NOT_SCHEDULED] += 1
            else:
                entry = Entry(url=candidate.url, depth=candidate.depth)
                links.append(self._scored_link(candidate.host, fingerprint, score, entry))
        for extra in answer.extras:
            links += self._extra_link(extra)
        for error in answer.errors:
            logger.error("The strategy failed on %s; breadth-first scores instead", found.page.url, exc_info=error)
        return links

    def _extra_link(self, extra: Extra) -> list[Link]:
        """A URL that the strategy thought of by itself passes the same gates as a link."""
        try:
            url = canonicalise(extra.url)
        except BadUrl as error:
            self.drops[error.reason] += 1
            return []
        reason = self._scope.refuse_link(url, extra.depth)
        if reason:
            self.drops[reason] += 1
            return []
        request = RequestFields(meta={STRATEGY_META: extra.meta}) if extra.meta else None
        entry = Entry(url=url.text, depth=extra.depth, request=request)
        return [self._scored_link(url.host, url.fingerprint, extra.score, entry)]

    def _scored_link(self, host: str, fingerprint: int, score: float, entry: Entry) -> Link:
        raw = encode(entry, identity(fingerprint), host)
        return Link(host, self._strategy.priority_of(score), score, fingerprint, raw)

    def take_ended(self) -> Ended:
        ended, self._ended = self._ended, Ended()
        return ended

    def put_back(self, ended: Ended) -> None:
        """Redis did not hear of them: they are told again, before what ended meanwhile."""
        later, self._ended = self._ended, ended
        ended.pages += later.pages
        ended.others += later.others
        for fence, report in later.reports.items():
            if fence in ended.reports:
                ended.reports[fence].merge(report)
            else:
                ended.reports[fence] = report

    def take_drops(self) -> Counter[str]:
        drops, self.drops = self.drops, Counter()
        return drops


def _redirect_fingerprint(target: Url, fields: RequestFields | None) -> int:
    if fields is None:
        return target.fingerprint
    return random_fingerprint() if fields.dont_filter else page_fingerprint(target, fields.method, fields.body)
