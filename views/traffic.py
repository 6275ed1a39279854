"""Rates, request times, and the rates of the last hour."""

from typing import Annotated

from ..base.frozen import frozen
from .source import Source

__all__ = ["History", "HistoryDocument", "Rates", "Times"]


@frozen(kw_only=True)
class Rates:
    """Mean rates of the last ten seconds, of one broker."""

    messages_in_per_s: float | None
    bytes_in_per_s: float | None
    bytes_out_per_s: Annotated[float | None, "sent to consumers, not to followers"]
    requests_per_s: Annotated[float | None, "null for a topic"]


@frozen(kw_only=True)
class Times:
    """Total time of the requests of one API: quantiles of the last five minutes or more, within an eighth."""

    count: Annotated[int, "requests since the start of the broker"]
    p50_ms: Annotated[float | None, "null: no request lately"]
    p99_ms: float | None
    max_ms: float | None


@frozen(kw_only=True)
class History:
    """Mean rates of equal spans of time, the oldest first. The last span ends at ``end_ms``.

    A value is null where nothing was measured, because the broker did not run yet.
    """

    step_ms: int
    end_ms: int
    messages_in_per_s: tuple[float | None, ...]
    bytes_in_per_s: tuple[float | None, ...]
    bytes_out_per_s: tuple[float | None, ...]


@frozen(kw_only=True)
class HistoryDocument:
    """Rates of the last hour of one broker, or of one topic on it."""

    source: Source
    topic: Annotated[str | None, "null: all topics"]
    history: Annotated[History | None, "null for a topic that is not among the 64 busiest"]
