"""The bound of ``--fail-above``: records, or the age of the oldest unread record."""

import argparse

from ...base.command_parser import CommandError
from ...base.frozen import frozen
from ..output.columns import duration_text
from ..reading.moments import duration_ms
from .group_partitions import lost_records
from .partition_offsets import GONE
from .shapes import GroupPartition

__all__ = ["LagBound", "lag_bound"]

_MAX_DIGITS = 18


@frozen
class LagBound:
    """``records`` or ``seconds`` is given, the other is None."""

    records: int | None
    seconds: float | None

    def excess(self, row: GroupPartition) -> str | None:
        """Why a partition is above the bound; None when it is not. An unknown lag and a lost offset are above it."""
        name = f"group {row.group}: {row.topic}-{row.partition}"
        unknown = _unknown(row)
        if unknown is not None:
            return f"{name}{unknown}"
        if self.records is not None:
            return f"{name} has a lag of {row.lag:,}" if row.lag is not None and row.lag > self.records else None
        if row.lag and row.lag_seconds is None:
            return f"{name} has a lag of {row.lag:,}, but the age of the oldest unread record is unknown"
        if row.lag_seconds is not None and self.seconds is not None and row.lag_seconds > self.seconds:
            return f"{name}: the oldest unread record is {duration_text(row.lag_seconds)} old"
        return None


def _unknown(row: GroupPartition) -> str | None:
    """Why no bound can hold, whatever it is: the lag is unknown, or the offset is outside the log."""
    if row.problem == GONE:
        return None  # the cluster deletes such an offset soon
    if row.problem is not None:
        return f": the lag is unknown: {row.problem}"
    if row.committed is None:
        has_records = row.end_offset is not None and row.end_offset > (row.start_offset or 0)
        return " has records, but the group has committed no offset: the lag is unknown" if has_records else None
    lost = lost_records(row)
    if lost:
        return f" has lost {lost:,} records that the group had not read: it starts at {row.start_offset}"
    if row.is_offset_lost:
        return f": the committed offset {row.committed} is behind the end {row.end_offset}"
    return ": the lag is unknown" if row.lag is None else None


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
