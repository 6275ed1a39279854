"""Settings of consumer groups, under ``group.consumer``."""

from typing import NamedTuple

from .....config.config import Config
from .....config.group_config import GroupConfig
from .....config.group_protocols import assignor_name
from ..migration.policy import MigrationPolicy

__all__ = ["ConsumerGroupSettings"]


class ConsumerGroupSettings(NamedTuple):
    """``assignors``: the names of the assignors on offer, the default first.

    ``regex_refresh_ms``: how old the topics of a pattern may become.
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 5_000
    max_size: int = 2**31 - 1
    assignors: tuple[str, ...] = ("uniform", "range")
    regex_refresh_ms: int = 600_000
    migration: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL

    @classmethod
    def from_config(cls, config: Config) -> "ConsumerGroupSettings":
        """From a broker's configuration."""
        names = map(assignor_name, config.list("group.consumer.assignors"))
        return cls(
            session_timeout_ms=config.int("group.consumer.session.timeout.ms"),
            heartbeat_interval_ms=config.int("group.consumer.heartbeat.interval.ms"),
            max_size=config.int("group.consumer.max.size"),
            assignors=tuple(dict.fromkeys(name for name in names if name is not None)),
            regex_refresh_ms=config.int("group.consumer.regex.refresh.interval.ms"),
            migration=MigrationPolicy(config.string("group.consumer.migration.policy").lower()),
        )

    def of_group(self, group: GroupConfig) -> "ConsumerGroupSettings":
        """These settings with those that are set on a group."""
        if not group.overrides:
            return self
        return self._replace(
            session_timeout_ms=group.int("consumer.session.timeout.ms"),
            heartbeat_interval_ms=group.int("consumer.heartbeat.interval.ms"),
        )
