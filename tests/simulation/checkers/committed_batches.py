"""Keeps the known committed batches of a partition, and compares them with the batches in a log."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pybroker.protocol.records.batch import iter_batches
from pybroker.storage.log.log import Log

__all__ = ["CommittedBatches", "Fingerprint", "batches_of"]

Fingerprint = tuple[int, int, int, int]
"""A batch's next offset, leader epoch, checksum and greatest timestamp."""


@dataclass
class CommittedBatches:
    """The known committed batches of one partition, by base offset.

    `end_offset`: all committed batches before it are known. `topic_id` tells apart topics that had the same name.
    """

    topic_id: object
    batches: dict[int, Fingerprint] = field(default_factory=dict)
    end_offset: int = 0

    def first_difference(self, batches: Mapping[int, Fingerprint], start_offset: int, end_offset: int) -> int | None:
        """The first offset at which a log from `start_offset` to `end_offset` with these batches differs from the
        committed ones; None if it has all known ones.
        """
        for base_offset, fingerprint in sorted(self.batches.items()):
            is_in_part = base_offset < start_offset and fingerprint[0] <= end_offset
            if fingerprint[0] > start_offset and not is_in_part and batches.get(base_offset) != fingerprint:
                return min(base_offset, end_offset)
        return end_offset if end_offset < self.end_offset else None

    def forget_from(self, offset: int) -> None:
        """Records from this offset on no longer count as committed."""
        self.batches = {base: fingerprint for base, fingerprint in self.batches.items() if base < offset}
        self.end_offset = min(self.end_offset, offset)


def batches_of(log: Log, start_offset: int, end_offset: int) -> list[tuple[int, Fingerprint]]:
    """Yields (base offset, fingerprint) of the batches that lie completely in this range."""
    found: list[tuple[int, Fingerprint]] = []
    end_offset = min(end_offset, log.view.log_end_offset)
    while start_offset < end_offset:
        region = log.view.read(start_offset, 1 << 30, end_offset, True, False).region
        data = region.read() if region is not None else b""
        batches = [batch for batch in iter_batches(data) if batch.next_offset <= end_offset]
        if not batches:
            break
        found += [
            (batch.base_offset, (batch.next_offset, batch.partition_leader_epoch, batch.crc, batch.max_timestamp))
            for batch in batches
            if batch.base_offset >= start_offset
        ]
        start_offset = batches[-1].next_offset
    return found
