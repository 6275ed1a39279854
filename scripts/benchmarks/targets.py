"""Targets of rows: a bound on the ratio to Kafka's figure, or on pybroker's own figure."""

from dataclasses import dataclass
from enum import Enum

__all__ = ["CPU", "Bound", "Target", "at_least", "at_most", "ratio_at_least", "ratio_at_most"]


class Bound(Enum):
    """Kind of bound; the value is its sign in the table."""

    AT_LEAST = "≥"
    AT_MOST = "≤"


@dataclass(frozen=True)
class Target:
    """A target. `figure` is the name of one of the row's figures."""

    figure: str
    bound: Bound
    limit: float
    is_ratio: bool

    def is_reached(self, ours: float, theirs: float) -> bool:
        """Returns whether the target is reached. A ratio to 0 is reached only by 0."""
        if self.is_ratio:
            theirs_scaled = theirs * self.limit
            return ours >= theirs_scaled if self.bound is Bound.AT_LEAST else ours <= theirs_scaled
        return ours >= self.limit if self.bound is Bound.AT_LEAST else ours <= self.limit

    def __str__(self) -> str:
        return f"{self.bound.value} {self.limit:g}{' of Kafka' if self.is_ratio else ''}"


def ratio_at_least(figure: str, limit: float) -> Target:
    return Target(figure, Bound.AT_LEAST, limit, is_ratio=True)


def ratio_at_most(figure: str, limit: float) -> Target:
    return Target(figure, Bound.AT_MOST, limit, is_ratio=True)


def at_least(figure: str, limit: float) -> Target:
    return Target(figure, Bound.AT_LEAST, limit, is_ratio=False)


def at_most(figure: str, limit: float) -> Target:
    return Target(figure, Bound.AT_MOST, limit, is_ratio=False)


CPU = ratio_at_most("broker CPU s", 0.6)
