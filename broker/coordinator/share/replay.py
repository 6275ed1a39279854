"""Rebuilds the states of share partitions from the records of one ``__share_group_state`` partition."""

from collections.abc import Callable, Iterator

from ....base.kafka_names import SHARE_GROUP_STATE_TOPIC
from ....protocol.codec import DecodeError
from ....protocol.errors import CoordinatorNotAvailableError
from ....protocol.records.walk import Record
from ..strict_replay import StrictReplay
from .entry import Entry
from .ports import SharePartitionKey
from .records import decode_record
from .state import Snapshot, state_after

__all__ = ["Replay"]


class Replay(StrictReplay):
    """Implements `Replaying`, whose docstrings are not repeated.

    A record that cannot be read ends the load with a KafkaError: without it records would be delivered again, or be
    lost.

    ``partition_for``: the partition that a share partition belongs to.
    """

    topic = SHARE_GROUP_STATE_TOPIC

    def __init__(self, partition: int, partition_for: Callable[[SharePartitionKey], int]) -> None:
        super().__init__(partition)
        self._partition_for = partition_for
        self._entries: dict[SharePartitionKey, Entry] = {}

    def entries(self) -> Iterator[Entry]:
        for key, entry in self._entries.items():
            expected = self._partition_for(key)
            if expected != self._partition:
                raise CoordinatorNotAvailableError(
                    f"{key} belongs to partition {expected} of __share_group_state, but is stored in partition "
                    f"{self._partition}: the number of partitions of the topic was changed"
                )
            # Made anew, because its size is that of the last state.
            yield Entry(self._partition, key, entry.state, entry.snapshot_offset)

    def _apply(self, record: Record) -> None:
        if record.key is None:
            raise DecodeError("a record without a key")
        key, change = decode_record(record.key, record.value)
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = Entry(self._partition, key, None, record.offset)
        entry.state = state_after(entry.state, change)
        if entry.state is None:
            del self._entries[key]
        elif isinstance(change, Snapshot):
            entry.snapshot_offset = record.offset
