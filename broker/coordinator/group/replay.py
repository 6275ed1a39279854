"""Rebuilds groups and offsets from the records of one ``__consumer_offsets`` partition.

**How.** The version of a key is the type of its record. A table leads from it to the part that knows this type.
"""

import logging
from collections.abc import Iterator, Mapping

from ....base.quiet_lines import QUIET
from ....protocol.codec import DecodeError
from ....protocol.records.batch import RecordBatch
from ....protocol.records.control import read_marker
from ....protocol.records.record import read_records
from ....protocol.records.walk import Record
from ..versioned import split_version
from .base import GroupBase
from .classic_replay import ClassicReplay
from .consumer.replay import CONSUMER_KEY_VERSIONS, ConsumerReplay
from .group import Group
from .offset_replay import OffsetReplay
from .record_keys import GROUP_KEY_VERSION, OFFSET_KEY_VERSIONS
from .replay_part import ReplayedBatch, ReplayPart
from .share.replay import SHARE_KEY_VERSIONS, ShareReplay

__all__ = ["Replay"]

logger = logging.getLogger(__name__)


class Replay:
    """Implements `Replaying`, whose docstrings are not repeated.

    ``now_ms``: the state timestamp of groups without a record of their own.
    """

    def __init__(self, partition: int, now_ms: int) -> None:
        self._partition = partition
        self._now_ms = now_ms
        self._offsets = OffsetReplay()
        self._parts: Mapping[int, ReplayPart] = {
            **dict.fromkeys(OFFSET_KEY_VERSIONS, self._offsets),
            GROUP_KEY_VERSION: ClassicReplay(),
            **dict.fromkeys(CONSUMER_KEY_VERSIONS, ConsumerReplay()),
            **dict.fromkeys(SHARE_KEY_VERSIONS, ShareReplay()),
        }
        self._unknown: dict[int, int] = {}
        """How many records were left out, by the version of their key."""
        self.record_count = 0

    def add(self, batch: RecordBatch) -> None:
        """Apply one batch."""
        for _ in self.steps(batch):
            pass

    def steps(self, batch: RecordBatch) -> Iterator[None]:
        self.record_count += batch.record_count
        if batch.is_control:
            marker = read_marker(batch)
            if marker is not None:
                self._offsets.end_transaction(batch.producer_id, is_commit=marker.is_commit)
            yield
            return
        replayed: ReplayedBatch | None = None
        for record in read_records(batch):
            if replayed is None:
                replayed = ReplayedBatch(batch.producer_id if batch.is_transactional else None, record.offset)
            try:
                self._apply(record, replayed)
            except DecodeError as error:
                # One bad record must not make the partition unavailable. The record it would replace stays.
                logger.error(
                    "__consumer_offsets-%d: record at offset %d skipped: %s", self._partition, record.offset, error
                )
            yield

    def entries(self) -> Iterator[GroupBase]:
        """Every group with members, offsets or offsets in an open transaction."""
        self._tell_unknown()
        offsets = self._offsets.result()
        groups = {group_id: group for part in self._parts.values() for group_id, group in part.groups.items()}
        for group_id in dict.fromkeys((*groups, *offsets.group_ids)):
            # A group without a record of its own only committed offsets.
            group = groups.get(group_id) or Group(group_id, self._now_ms)
            offsets.load(group)
            yield group

    def _apply(self, record: Record, batch: ReplayedBatch) -> None:
        if record.key is None:
            raise DecodeError("a record without a key")
        version, key = split_version(record.key)
        part = self._parts.get(version)
        if part is None:  # of a newer group protocol, written by another coordinator
            self._unknown[version] = self._unknown.get(version, 0) + 1
        else:
            part.apply(version, key, record.value, batch)

    def _tell_unknown(self) -> None:
        if self._unknown:
            logger.warning(
                "__consumer_offsets-%d: %d records of key versions %s ignored",
                self._partition,
                sum(self._unknown.values()),
                ", ".join(map(str, sorted(self._unknown))),
                extra=QUIET,
            )
