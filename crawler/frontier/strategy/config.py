"""Which settings do strategies need, and which class of the queue does a score mean?"""

from dataclasses import dataclass
from typing import Any

from crawler.configuration import SettingsReader
from crawler.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class StrategyConfig:
    high_score: float
    low_score: float
    deep_links: int

    @classmethod
    def from_settings(cls, settings: Any) -> "StrategyConfig":
        """Takes Scrapy's settings or Frontera's, which a strategy finds at its manager."""
        read = SettingsReader(settings)
        config = cls(
            high_score=read.number("FRONTIER_HIGH_SCORE", 0, 1),
            low_score=read.number("FRONTIER_LOW_SCORE", 0, 1),
            deep_links=read.whole("FRONTIER_DEEP_LINKS", 1, 10_000),
        )
        if not config.low_score < config.high_score:
            raise ConfigurationError(
                f"FRONTIER_LOW_SCORE is {config.low_score} and FRONTIER_HIGH_SCORE is {config.high_score}; "
                "the first must be less than the second, or no link is of medium priority"
            )
        return config

    def priority_of(self, score: float) -> str:
        if score >= self.high_score:
            return "high"
        return "low" if score < self.low_score else "medium"
