"""Classic mistakes of share partitions and their coordinators as switches: the checkers must notice each."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

from pybroker.broker.coordinator.group.share.share_groups import ShareGroups
from pybroker.broker.coordinator.share import rules, state_requests, upkeep
from pybroker.broker.coordinator.share.combining import combined
from pybroker.broker.coordinator.share.entry import Change as StateChange
from pybroker.broker.coordinator.share.entry import Entry
from pybroker.broker.coordinator.share.ports import StateWrite
from pybroker.broker.coordinator.share.rules import initialized, is_cold, snapshot_again, written
from pybroker.broker.coordinator.share.state import NO_EPOCH, NO_OFFSET, Snapshot, StoredState, Update
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.broker.coordinator.share.upkeep import Upkeep
from pybroker.broker.share import settings, share_fetch, share_partition
from pybroker.broker.share.acknowledgements import Acknowledgement, AcknowledgeType
from pybroker.broker.share.active_share_partition import ActiveSharePartition
from pybroker.broker.share.read_batches import RegionToRead, region_to_read
from pybroker.broker.share.record_runs import Change, RecordState, Run
from pybroker.broker.share.share_partition import SharePartition
from pybroker.broker.share.stored_runs import add_state
from pybroker.protocol.errors import ErrorCode, KafkaError
from pybroker.protocol.sentinels import EARLIEST
from pybroker.storage.files.files import FileRegion

__all__ = ["MISTAKES"]


@contextmanager
def _patched(owner: Any, name: str, replacement: Any) -> Iterator[None]:
    with patch.object(owner, name, replacement):
        yield


def _nothing(*arguments: Any) -> None:
    """Do nothing."""


def _is_not_settled(run: Run) -> bool:
    """Records with a lock count as available."""
    return not run.state.is_terminal and run.change is None


def _state_of(type_: AcknowledgeType) -> RecordState:
    """A released record is given up."""
    return RecordState.ACKNOWLEDGED if type_ is AcknowledgeType.ACCEPT else RecordState.ARCHIVED


_store = ActiveSharePartition._store


def _store_later(self: ActiveSharePartition, change: Change, done: Callable[[KafkaError | None], None]) -> None:
    """The response does not wait until the change is stored."""
    done(None)
    _store(self, change, _nothing)


_acknowledge = SharePartition.acknowledge


def _end_renewed(self: SharePartition, member_id: str, said: Sequence[Acknowledgement], deadline_ms: int) -> Change:
    """A lock that is renewed ends at once."""
    return _acknowledge(self, member_id, said, 0)


def _without_old_batches(
    old: Sequence[StateBatch], new: Sequence[StateBatch], start_offset: int
) -> tuple[StateBatch, ...]:
    """A snapshot has only the batches that changed last."""
    return combined((), new, start_offset)


def _add_state_once(batches: list[StateBatch], run: Run, state: RecordState) -> None:
    """Each stored record counts as delivered once."""
    add_state(batches, run, state)
    batches[-1] = batches[-1]._replace(delivery_count=1)


def _with_aborted(region: FileRegion, records: SharePartition | None, max_records: int, aborted: Any) -> RegionToRead:
    """Aborted records are like others."""
    return region_to_read(region, records, max_records, None)


def _begun_at_reset(
    state: StoredState | None, state_epoch: int, start_offset: int, now_ms: int
) -> Snapshot | ErrorCode:
    """The start offset that an administrator sets is not stored."""
    return initialized(state, state_epoch, NO_OFFSET, now_ms)


def _written_of_any_leader(state: StoredState | None, write: StateWrite, *others: int) -> Any:
    """The epoch of the leader that writes is not looked at."""
    return written(state, write._replace(leader_epoch=NO_EPOCH), *others)


def _written_as_it_comes(state: StoredState | None, write: StateWrite, *others: int) -> Any:
    """A late write brings an old start offset back."""
    record = written(state, write, *others)
    is_late = state is not None and NO_OFFSET != write.start_offset < state.snapshot.start_offset
    return record._replace(start_offset=write.start_offset) if is_late and isinstance(record, Update) else record


def _needed_by_one(entries: Sequence[Entry]) -> int:
    """Only the share partition that was stored last keeps its records."""
    return max((entry.snapshot_offset for entry in entries if entry.state is not None), default=0)


def _store_state_of_the_look(self: Upkeep, entry: Entry) -> None:
    """The new snapshot of a cold state lacks the changes that are being written."""
    old = entry.state

    def decide(state: StoredState | None) -> Snapshot | None:
        now_ms = self._ports.now_ms()
        if old is None or state is None or not is_cold(old, now_ms, self._settings.cold_snapshot_interval_ms):
            return None
        return snapshot_again(old, now_ms)

    if old is not None:
        self._writer.submit(entry, StateChange(decide, _nothing))


MISTAKES: dict[str, Callable[[], AbstractContextManager[None]]] = {
    "locks keep nobody out": partial(_patched, Run, "is_acquirable", property(_is_not_settled)),
    "any member may acknowledge a record": partial(
        _patched, Run, "is_held_by", lambda run, member_id: run.state is RecordState.ACQUIRED and run.change is None
    ),
    "locks do not end": partial(_patched, ActiveSharePartition, "_locks_ended", _nothing),
    "a renewed lock ends at once": partial(_patched, SharePartition, "acknowledge", _end_renewed),
    "records are delivered without limit": partial(
        _patched, SharePartition, "_next_state", lambda self, run, state: state
    ),
    "released records are given up": partial(_patched, AcknowledgeType, "state", property(_state_of)),
    "acknowledgements are answered before they are stored": partial(
        _patched, ActiveSharePartition, "_store", _store_later
    ),
    "stored batches are not loaded": partial(
        _patched, share_partition, "stored_runs", lambda start_offset, batches: iter(())
    ),
    "stored records lose their delivery counts": partial(_patched, share_partition, "add_state", _add_state_once),
    "a snapshot has only the batches that changed last": partial(_patched, rules, "combined", _without_old_batches),
    "aborted records are delivered": partial(_patched, share_fetch, "region_to_read", _with_aborted),
    "groups that begin at the end of logs begin at the start": partial(_patched, settings, "LATEST", EARLIEST),
    "changes of a group's settings are not seen": partial(
        _patched, ShareGroups, "_settings_of", lambda self, group: self._ports.settings
    ),
    "an altered offset is not stored": partial(_patched, state_requests, "initialized", _begun_at_reset),
    "leaders of earlier epochs may write": partial(_patched, state_requests, "written", _written_of_any_leader),
    "the stored start offset may fall": partial(_patched, state_requests, "written", _written_as_it_comes),
    "records are deleted that the state of another share partition needs": partial(
        _patched, upkeep, "_first_needed", _needed_by_one
    ),
    "a new snapshot of a cold state lacks what is being written": partial(
        _patched, Upkeep, "_store_if_cold", _store_state_of_the_look
    ),
    "states of deleted topics are kept": partial(_patched, Upkeep, "_look_for_topic", _nothing),
    "changes of topics are not seen": partial(_patched, ShareGroups, "topics_changed", _nothing),
}
"""A context manager for each mistake, by its description."""
