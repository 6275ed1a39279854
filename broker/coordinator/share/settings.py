"""The settings of the share coordinator, read once from the broker's configuration."""

from ....base.frozen import frozen
from ....config.config import Config

__all__ = ["ShareCoordinatorSettings"]


@frozen
class ShareCoordinatorSettings:
    """Named after Kafka's settings (``share.coordinator.*``), with Kafka's defaults.

    Attributes:
        prune_interval_ms: how often old records are deleted.
        cold_snapshot_interval_ms: how often, and from which age on, states are stored anew.
        max_bytes: the memory that all states may take (``pybroker.share.states.max.bytes``).
    """

    updates_per_snapshot: int = 500
    write_timeout_ms: int = 5_000
    prune_interval_ms: int = 5 * 60_000
    cold_snapshot_interval_ms: int = 5 * 60_000
    max_bytes: int = 256 * 1024 * 1024

    @classmethod
    def from_config(cls, config: Config) -> "ShareCoordinatorSettings":
        """From a broker's configuration."""
        return cls(
            updates_per_snapshot=config.int("share.coordinator.snapshot.update.records.per.snapshot"),
            write_timeout_ms=config.int("share.coordinator.write.timeout.ms"),
            prune_interval_ms=config.int("share.coordinator.state.topic.prune.interval.ms"),
            cold_snapshot_interval_ms=config.int("share.coordinator.cold.partition.snapshot.interval.ms"),
            max_bytes=config.int("pybroker.share.states.max.bytes"),
        )
