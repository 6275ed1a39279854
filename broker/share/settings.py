"""The settings of a share group that concern its records."""

from typing import NamedTuple

from ...config.config import Config
from ...config.group_config import GroupConfig
from ...config.offset_reset import reset_duration_ms
from ...protocol.sentinels import EARLIEST, LATEST
from ...replication.partition.isolation import Isolation

__all__ = ["ShareSettings"]


class ShareSettings(NamedTuple):
    """``isolation``: share.isolation.level. ``reset_timestamp``: share.auto.offset.reset, as ListOffsets asks for it;
    ``resets_ms_ago``: in place of it, how long ago the records were written with which the group begins."""

    lock_ms: int
    max_locks: int
    max_deliveries: int
    isolation: Isolation = Isolation.HIGH_WATERMARK
    reset_timestamp: int = LATEST
    resets_ms_ago: int | None = None

    @classmethod
    def of(cls, config: Config, group: GroupConfig) -> "ShareSettings":
        """From the settings of the broker and of a group."""
        reset = group.string("share.auto.offset.reset")
        reads_committed = group.string("share.isolation.level") == "read_committed"
        return cls(
            group.int("share.record.lock.duration.ms"),
            config.int("group.share.partition.max.record.locks"),
            config.int("group.share.delivery.count.limit"),
            Isolation.COMMITTED if reads_committed else Isolation.HIGH_WATERMARK,
            EARLIEST if reset == "earliest" else LATEST,
            reset_duration_ms(reset),
        )
