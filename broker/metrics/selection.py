"""Which series a scrape gives, by the settings ``pybroker.metrics.…``."""

import re

from ...base.frozen import frozen
from ...config.config import Config
from .series.series import Detail, Series, Spelling

__all__ = ["Selection"]


@frozen
class Selection:
    """``names``: the spellings wanted; ``exclude``: a pattern that must match the whole name of a series to hide it."""

    names: frozenset[Spelling] = frozenset(Spelling)
    detail: Detail = Detail.PARTITION
    exclude: re.Pattern[str] | None = None
    max_series: int = 500_000

    @classmethod
    def from_config(cls, config: Config) -> "Selection":
        pattern = config.string("pybroker.metrics.exclude")
        return cls(
            frozenset(map(Spelling, config.list("pybroker.metrics.names"))),
            Detail[config.string("pybroker.metrics.detail").upper()],
            re.compile(pattern) if pattern else None,
            config.int("pybroker.metrics.max.series"),
        )

    def includes(self, series: Series, detail: Detail) -> bool:
        """Whether samples of this detail are wanted of the series."""
        if series.spelling not in self.names or detail > self.detail:
            return False
        return self.exclude is None or self.exclude.fullmatch(series.name) is None
