"""The bound of ``--fail-above``: records, or the age of the oldest unread record."""

import argparse
from dataclasses import dataclass

from ...base.command_parser import CommandError
from ..output.columns import duration_text
from ..reading.moments import duration_ms
from .shapes import GroupPartition

__all__ = ["LagBound", "lag_bound"]

_MAX_DIGITS = 18


@dataclass(frozen=True, slots=True)
class LagBound:
    """``records`` or ``seconds`` is given, the other is None."""

    records: int | None
    seconds: float | None

    def excess(self, row: GroupPartition) -> str | None:
        """Why a partition is above the bound; None when it is not. An unknown lag of an old offset is above it."""
        name = f"group {row.group}: {row.topic}-{row.partition}"
        if self.records is not None:
            return f"{name} has a lag of {row.lag:,}" if row.lag is not None and row.lag > self.records else None
        if row.lag and row.lag_seconds is None:
            return f"{name} has a lag of {row.lag:,}, but the age of the oldest unread record is unknown"
        if row.lag_seconds is not None and self.seconds is not None and row.lag_seconds > self.seconds:
            return f"{name}: the oldest unread record is {duration_text(row.lag_seconds)} old"
        return None


def lag_bound(text: str) -> LagBound:
    """Reads ``1000`` or ``30s``. Raises ArgumentTypeError."""
    if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS:
        return LagBound(int(text), None)
    try:
        return LagBound(None, duration_ms(text) / 1000)
    except CommandError:
        raise argparse.ArgumentTypeError(
            f"{text} must be records, such as 1000, or a time, such as 30s or 5m"
        ) from None
