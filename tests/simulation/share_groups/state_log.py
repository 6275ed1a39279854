"""Reads what ``__share_group_state`` says of one share group, and checks its history.

It decodes the messages itself, so a mistake in the coordinator's own replay cannot hide another one.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from pybroker.protocol.codec import decode
from pybroker.protocol.messages.share_group_state import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateValue
from simulation.transactions.log_view import LogBatch

__all__ = ["Picture", "StateKey", "read_state_log"]

_SNAPSHOT = 0
_TERMINAL = (2, 4)


class StateKey(NamedTuple):
    topic_id: UUID
    partition: int


@dataclass
class Picture:
    """The state of a share partition at the end of the log, and what was wrong on the way.

    ``records``: delivery count and state of the records from the start offset on. ``begins_at``: the first start
    offset since the state began. ``is_there``: whether it was deleted last; ``deletions``: how often.
    """

    state_epoch: int = -1
    leader_epoch: int = -1
    start_offset: int = -1
    begins_at: int = -1
    is_there: bool = False
    deletions: int = 0
    records: dict[int, tuple[int, int]] = field(default_factory=dict)
    violations: list[str] = field(default_factory=list)

    def done_until(self, skipped: Collection[int] = ()) -> int:
        """The first offset whose delivery is not complete. Nothing is stored of ``skipped`` offsets."""
        offset = max(self.start_offset, 0)
        while self.records.get(offset, (0, 0))[1] in _TERMINAL or offset in skipped:
            offset += 1
        return offset

    def take_snapshot(self, value: ShareSnapshotValue) -> None:
        # No leader has written to the state, which may also begin anew in the same state epoch.
        is_initial = value.leader_epoch <= 0 and value.delivery_complete_count < 0 and not value.state_batches
        if value.state_epoch != self.state_epoch or is_initial:
            self.begin_anew()
        self.state_epoch, self.is_there = value.state_epoch, True
        before, self.records = self.records, {}
        self._take(value)
        for offset, (count, state) in before.items():
            if offset >= self.start_offset and self.records.get(offset, (-1, -1)) < (count, state):
                self.violations.append(f"a snapshot forgets state {state}, count {count} of record {offset}")

    def begin_anew(self) -> None:
        """The state was created, or deleted."""
        self.start_offset = self.leader_epoch = self.begins_at = self.state_epoch = -1
        self.records, self.is_there = {}, False

    def take_update(self, value: ShareUpdateValue) -> None:
        self._take(value)

    def _take(self, value: Any) -> None:
        """A higher delivery count wins, then the later state."""
        if value.leader_epoch >= 0:
            if value.leader_epoch < self.leader_epoch:
                self.violations.append(f"leader epoch {value.leader_epoch} writes after {self.leader_epoch}")
            self.leader_epoch = value.leader_epoch
        if value.start_offset >= 0:
            if value.start_offset < self.start_offset:
                self.violations.append(f"start offset {value.start_offset} comes after {self.start_offset}")
            self.start_offset = value.start_offset
            self.begins_at = value.start_offset if self.begins_at < 0 else self.begins_at
        for batch in value.state_batches:
            for offset in range(batch.first_offset, batch.last_offset + 1):
                stored = batch.delivery_count, batch.delivery_state
                self.records[offset] = max(stored, self.records.get(offset, (-1, -1)))
        self.records = {offset: each for offset, each in self.records.items() if offset >= self.start_offset}


def read_state_log(batches: Iterable[LogBatch], group_id: str) -> dict[StateKey, Picture]:
    """The states of the group's share partitions."""
    pictures: dict[StateKey, Picture] = {}
    for batch in batches:
        for _, key, value in batch.records:
            assert key is not None
            parsed = decode(ShareSnapshotKey, key[2:], 0)
            if parsed.group_id != group_id:
                continue
            picture = pictures.setdefault(StateKey(parsed.topic_id, parsed.partition), Picture())
            if value is None:
                picture.deletions += 1
                picture.begin_anew()
            elif int.from_bytes(key[:2]) == _SNAPSHOT:
                picture.take_snapshot(decode(ShareSnapshotValue, value[2:], 0))
            else:
                picture.take_update(decode(ShareUpdateValue, value[2:], 0))
    return pictures
