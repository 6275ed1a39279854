"""Settings of consumer groups, under ``group.consumer``."""

from typing import NamedTuple

__all__ = ["ConsumerGroupSettings"]


class ConsumerGroupSettings(NamedTuple):
    """``assignors``: the names of the assignors on offer, the default first."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    regex_refresh_ms: int = 600_000
