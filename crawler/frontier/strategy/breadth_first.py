"""Seeds first, then home pages, then links by their distance from a seed; deep links last.

The default strategy, and what stands in for another one that fails.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from crawler.frontier.strategy.compat import BaseCrawlingStrategy, States
from crawler.frontier.strategy.config import StrategyConfig
from crawler.frontier.strategy.links import Candidate

SEED_SCORE = 1.0
_SLOPE = 7  # the first link of the medium band lands an eighth below its top


def score_breadth_first(config: StrategyConfig, url: str, depth: int, is_seed: bool = False) -> float:
    """Each class of the queue has a band of scores, and in its band a shallower link is above every deeper one."""
    if is_seed or depth <= 0:
        return SEED_SCORE
    share = _SLOPE / (_SLOPE + depth)
    if url.endswith("/") and url.count("/") == 3:  # a canonical URL whose path is "/"
        return config.high_score + (1 - config.high_score) * share
    if depth >= config.deep_links:
        return config.low_score * share
    return config.low_score + (config.high_score - config.low_score) * share


class BreadthFirstStrategy(BaseCrawlingStrategy):  # type: ignore[misc]
    def __init__(self, manager: Any, args: Any, scheduled_stream: Any, states_context: Any) -> None:
        super().__init__(manager, args, scheduled_stream, states_context)
        self._config = StrategyConfig.from_settings(manager.settings)

    def score_candidates(self, candidates: Sequence[Candidate]) -> list[float | None]:
        """The same scores as by the methods below, without a Frontera request for each link."""
        config = self._config
        return [score_breadth_first(config, link.url, link.depth, link.is_seed) for link in candidates]

    def read_seeds(self, stream: Iterable[bytes]) -> None:
        for line in stream:
            request = self.create_request(line.strip())
            request.meta[b"depth"] = 0
            self.schedule(request, SEED_SCORE)

    def page_crawled(self, response: Any) -> None:
        response.meta[b"state"] = States.CRAWLED

    def request_error(self, request: Any, error: str) -> None:
        request.meta[b"state"] = States.ERROR

    def filter_extracted_links(self, request: Any, links: list[Any]) -> list[Any]:
        return links

    def links_extracted(self, request: Any, links: list[Any]) -> None:
        depth = request.meta.get(b"depth", 0) + 1
        for link in links:
            if link.meta[b"state"] == States.NOT_CRAWLED:
                link.meta[b"depth"] = depth
                link.meta[b"state"] = States.QUEUED
                self.schedule(link, score_breadth_first(self._config, link.url, depth))
