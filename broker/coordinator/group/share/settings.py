"""Settings of share groups, under ``group.share``, as far as the group coordinator acts on them."""

from typing import NamedTuple

from .....config.config import Config
from .....config.group_config import GroupConfig

__all__ = ["ShareGroupSettings"]


class ShareGroupSettings(NamedTuple):
    """``max_size``: most members of a group."""

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = 200

    @classmethod
    def from_config(cls, config: Config) -> "ShareGroupSettings":
        """From a broker's configuration."""
        return cls(
            session_timeout_ms=config.int("group.share.session.timeout.ms"),
            heartbeat_interval_ms=config.int("group.share.heartbeat.interval.ms"),
            max_size=config.int("group.share.max.size"),
        )

    def of_group(self, group: GroupConfig) -> "ShareGroupSettings":
        """These settings with those that are set on a group."""
        if not group.overrides:
            return self
        return self._replace(
            session_timeout_ms=group.int("share.session.timeout.ms"),
            heartbeat_interval_ms=group.int("share.heartbeat.interval.ms"),
        )
