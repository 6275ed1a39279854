"""The settings of the group coordinator, read once from the broker's configuration."""

from ....base.frozen import frozen
from ....config.config import Config
from ....config.group_protocols import asks_for_consumer_protocol

__all__ = ["GroupSettings"]


@frozen
class GroupSettings:
    """Limits and delays, named after Kafka's settings (``group.min.session.timeout.ms`` …), with Kafka's defaults.

    ``serves_consumer_groups``: whether ``group.coordinator.rebalance.protocols`` names the consumer protocol.
    ``max_bytes``: ``pybroker.groups.max.bytes``. ``offsets_max_bytes``: ``pybroker.offsets.max.bytes``.
    """

    min_session_timeout_ms: int = 6_000
    max_session_timeout_ms: int = 1_800_000
    max_size: int = 2**31 - 1
    initial_rebalance_delay_ms: int = 3_000
    metadata_max_bytes: int = 4_096
    retention_ms: int = 7 * 24 * 3_600_000
    retention_check_interval_ms: int = 600_000
    compression_codec: int = 0
    max_bytes: int = 128 * 1024 * 1024
    offsets_max_bytes: int = 1024 * 1024 * 1024
    serves_consumer_groups: bool = False

    @classmethod
    def from_config(cls, config: Config) -> "GroupSettings":
        """From a broker's configuration."""
        return cls(
            min_session_timeout_ms=config.int("group.min.session.timeout.ms"),
            max_session_timeout_ms=config.int("group.max.session.timeout.ms"),
            max_size=config.int("group.max.size"),
            max_bytes=config.int("pybroker.groups.max.bytes"),
            offsets_max_bytes=config.int("pybroker.offsets.max.bytes"),
            initial_rebalance_delay_ms=config.int("group.initial.rebalance.delay.ms"),
            metadata_max_bytes=config.int("offset.metadata.max.bytes"),
            retention_ms=config.int("offsets.retention.minutes") * 60_000,
            retention_check_interval_ms=config.int("offsets.retention.check.interval.ms"),
            compression_codec=config.int("offsets.topic.compression.codec"),
            serves_consumer_groups=asks_for_consumer_protocol(config),
        )
