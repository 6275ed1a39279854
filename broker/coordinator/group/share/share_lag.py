"""How many records of a partition a share group has still to complete (KIP-1226)."""

from .....protocol.errors import ErrorCode
from ...share.ports import StateSummary

__all__ = ["has_lag", "lag_up_to"]

_UNKNOWN = -1


def has_lag(summary: StateSummary | ErrorCode) -> bool:
    """Whether the state tells enough for a lag."""
    return isinstance(summary, StateSummary) and _UNKNOWN not in (summary.start_offset, summary.delivery_complete_count)


def lag_up_to(end: int, summary: StateSummary) -> int:
    """The lag of a state that has one, when the partition ends at ``end``."""
    return max(end - summary.start_offset - summary.delivery_complete_count, 0)
