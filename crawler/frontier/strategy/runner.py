"""How does a Frontera strategy run inside a worker?

The scheduler asks it for scores before it pushes: nothing here queues, waits or talks to Redis. A strategy gets what
Frontera's own worker would give it, in small: requests with a fingerprint, domain, depth and state in their meta, a
manager, a stream to schedule to, states. Only links that the crawl has not seen reach it, and the push decides in the
end, so every state it asks for is NOT_CRAWLED. What it keeps in ``domain_metadata`` stays in this process.
"""

import hashlib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from scrapy.settings import BaseSettings

from crawler.errors import ConfigurationError
from crawler.frontier.strategy.breadth_first import score_breadth_first
from crawler.frontier.strategy.compat import (
    BaseCrawlingStrategy,
    Request,
    Response,
    Settings,
    States,
    StatesContext,
    load_class,
)
from crawler.frontier.strategy.config import StrategyConfig
from crawler.frontier.strategy.links import Candidate, Extra, Page, Scores

# What Frontera and the runner put into the meta of every request; the rest is the strategy's.
_OUR_META = frozenset({b"fingerprint", b"domain", b"state", b"depth", b"jid", b"scrapy_meta"})
# A strategy may define this beside Frontera's methods; then no Frontera request is made for a link.
_FAST_HOOK = "score_candidates"
_SLOW_HOOKS = ("read_seeds", "page_crawled", "filter_extracted_links", "links_extracted", "schedule")


class StrategyRunner:
    def __init__(self, strategy_class: Any, settings: BaseSettings) -> None:
        self.config = StrategyConfig.from_settings(settings)
        self._stream = _Stream()
        states = _States()
        self._context = StatesContext(states)
        manager = _Manager(settings, states)
        args = manager.settings.get("STRATEGY_ARGS")
        self.strategy = strategy_class.from_worker(manager, args, self._stream, self._context)
        self.strategy.frontier_start()
        self._score_fast = getattr(self.strategy, _FAST_HOOK) if _is_fast(strategy_class) else None

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> "StrategyRunner":
        path = settings.get("FRONTIER_STRATEGY")
        what = f"FRONTIER_STRATEGY is {path!r:.200}"
        try:
            found = load_class(path)
        except Exception as error:
            raise ConfigurationError(
                f"{what}, which cannot be imported ({type(error).__name__}: {error}); give the dotted path of a class, "
                "as crawler.frontier.strategy.breadth_first.BreadthFirstStrategy"
            ) from error
        if not (isinstance(found, type) and issubclass(found, BaseCrawlingStrategy)):
            raise ConfigurationError(
                f"{what}, which is no crawling strategy; derive it from frontera.strategy.BaseCrawlingStrategy"
            )
        try:
            return cls(found, settings)
        except ConfigurationError:
            raise
        except Exception as error:
            raise ConfigurationError(f"{what}, which does not start: {type(error).__name__}: {error}") from error

    @property
    def is_fast(self) -> bool:
        """Whether the strategy looks at links alone: a page without new ones need not be shown to it."""
        return self._score_fast is not None

    def score_seeds(self, candidates: Sequence[Candidate]) -> Scores:
        if self._score_fast is not None:
            return self._run_fast(candidates)
        errors: list[Exception] = []
        undecided = {link.url for link in candidates}
        with self._catching(errors):
            self.strategy.read_seeds(io.BytesIO("\n".join(link.url for link in candidates).encode()))
            undecided.clear()
        return self._collect(candidates, 0, undecided, errors)

    def score_links(self, page: Page, candidates: Sequence[Candidate]) -> Scores:
        """Takes those links of the page that the crawl has not seen."""
        if self._score_fast is not None:
            return self._run_fast(candidates)
        errors: list[Exception] = []
        crawled = _request_of(page)
        with self._catching(errors):
            self.strategy.page_crawled(Response(page.url, page.status, dict(page.headers), page.body, crawled))
        undecided = {link.url for link in candidates}
        with self._catching(errors):
            links = [_make_request(link.url, link.depth) for link in candidates]
            chosen = list(self.strategy.filter_extracted_links(crawled, links) or ()) if links else []
            undecided = {link.url for link in chosen}
            if chosen:
                self.strategy.links_extracted(crawled, chosen)
            undecided.clear()
        return self._collect(candidates, page.depth + 1, undecided, errors)

    def report_error(self, page: Page, error_name: str) -> Scores:
        """The page is dead. The strategy may want others in its place: they are the extras."""
        errors: list[Exception] = []
        with self._catching(errors):
            self.strategy.request_error(_request_of(page), error_name)
        return self._collect((), page.depth, set(), errors)

    def priority_of(self, score: float) -> str:
        return self.config.priority_of(score)

    def is_finished(self) -> bool:
        """Whether the strategy says that the crawl has reached its goal."""
        return bool(self.strategy.finished())

    def close(self) -> None:
        self.strategy.close()
        self.strategy.frontier_stop()

    def _run_fast(self, candidates: Sequence[Candidate]) -> Scores:
        assert self._score_fast is not None  # noqa: S101
        try:
            scores = [None if score is None else _check_score(score) for score in self._score_fast(candidates)]
            if len(scores) != len(candidates):
                raise ValueError(f"{_FAST_HOOK} gave {len(scores)} scores for {len(candidates)} links")
        except Exception as error:
            return Scores([self._stand_in(link) for link in candidates], errors=[error])
        return Scores(scores)

    @contextmanager
    def _catching(self, errors: list[Exception]) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            errors.append(error)
        self._context.release()  # or it keeps every request that the strategy refreshed

    def _collect(
        self, candidates: Sequence[Candidate], depth: int, undecided: set[str], errors: list[Exception]
    ) -> Scores:
        """Breadth-first scores for the ``undecided``: URLs that the strategy would have scored, had it not failed."""
        sent = self._stream.take()
        scores: list[float | None] = []
        for link in candidates:
            if link.url in sent:
                scores.append(sent[link.url][0])
            else:
                scores.append(self._stand_in(link) if link.url in undecided else None)
        given = {link.url for link in candidates}
        extras = [
            Extra(url, score, request.meta.get(b"depth", depth), _own_meta(request.meta))
            for url, (score, request) in sent.items()
            if url not in given
        ]
        return Scores(scores, extras, errors)

    def _stand_in(self, link: Candidate) -> float:
        return score_breadth_first(self.config, link.url, link.depth, link.is_seed)


# --- What Frontera's worker would hand to a strategy -----------------------------------------


class _Stream:
    """Where ``strategy.schedule`` ends."""

    def __init__(self) -> None:
        self._sent: dict[str, tuple[float, Any]] = {}

    def send(self, request: Any, score: float = 1.0, dont_queue: bool = False) -> None:
        if not dont_queue:
            self._sent[request.url] = (_check_score(score), request)

    def flush(self) -> None:
        pass

    def take(self) -> dict[str, tuple[float, Any]]:
        sent, self._sent = self._sent, {}
        return sent


class _States(States):  # type: ignore[misc]
    """Keeps nothing: the seen-sets of the frontier know, and the push asks them."""

    def set_states(self, objs: Any) -> None:
        for request in objs if isinstance(objs, Iterable) else [objs]:
            request.meta[b"state"] = States.NOT_CRAWLED

    def update_cache(self, objs: Any) -> None:
        pass

    def fetch(self, fingerprints: Any) -> None:
        pass

    def flush(self) -> None:
        pass


class _Backend:
    def __init__(self, states: _States) -> None:
        self.states = states
        self.domain_metadata: dict[str, Any] = {}


class _Manager:
    request_model = Request
    response_model = Response

    def __init__(self, settings: BaseSettings, states: _States) -> None:
        self.settings = Settings(attributes=settings.copy_to_dict())  # over Frontera's own defaults
        self.backend = _Backend(states)

    def create_request(
        self,
        url: str | bytes,
        method: bytes = b"GET",
        headers: dict[Any, Any] | None = None,
        cookies: dict[Any, Any] | None = None,
        meta: dict[bytes, Any] | None = None,
        body: bytes = b"",
    ) -> Any:
        request = Request(url, method, headers, cookies, meta, body)
        _complete_meta(request)
        return request


def _make_request(url: str, depth: int, meta: Mapping[bytes, Any] | None = None) -> Any:
    request = Request(url, meta={**(meta or {}), b"depth": depth, b"jid": 0, b"scrapy_meta": {}})
    _complete_meta(request)
    return request


def _request_of(page: Page) -> Any:
    request = _make_request(page.url, page.depth, page.meta)
    request.meta[b"state"] = States.QUEUED
    return request


def _complete_meta(request: Any) -> None:
    """As Frontera's two default middlewares do, on URLs that are canonical already."""
    parts = urlsplit(request.url)
    request.meta[b"state"] = States.NOT_CRAWLED
    request.meta[b"fingerprint"] = hashlib.sha1(request.url.encode(), usedforsecurity=False).hexdigest().encode()
    request.meta[b"domain"] = {
        b"netloc": parts.netloc.encode(),
        b"name": (parts.hostname or "").encode(),
        b"scheme": parts.scheme.encode(),
        b"sld": b"",
        b"tld": b"",
        b"subdomain": b"",
    }


def _own_meta(meta: dict[bytes, Any]) -> dict[bytes, Any]:
    return {key: value for key, value in meta.items() if key not in _OUR_META}


def _check_score(score: Any) -> float:
    number = float(score)
    if math.isnan(number):
        raise ValueError("a strategy gave a score that is not a number")
    return min(max(number, 0.0), 1.0)


def _is_fast(strategy_class: type) -> bool:
    """Whether the fast hook is as new as the methods it stands for: who overrides one of those wants it called."""

    def owner(name: str) -> int:
        return next(place for place, cls in enumerate(strategy_class.__mro__) if name in vars(cls))

    return hasattr(strategy_class, _FAST_HOOK) and all(owner(_FAST_HOOK) <= owner(name) for name in _SLOW_HOOKS)


__all__ = ["Candidate", "Extra", "Page", "Scores", "StrategyRunner"]
