"""A share coordinator over a `__share_group_state` in memory, called without an event loop."""

from typing import Any
from uuid import UUID

from pybroker.broker.coordinator.share.coordinator_ports import ShareCoordinatorPorts
from pybroker.broker.coordinator.share.entry import Entry
from pybroker.broker.coordinator.share.ports import SharePartitionKey
from pybroker.broker.coordinator.share.registry import ShareRegistry
from pybroker.broker.coordinator.share.replay import Replay
from pybroker.broker.coordinator.share.settings import ShareCoordinatorSettings
from pybroker.broker.coordinator.share.state import StoredState
from pybroker.broker.coordinator.share.state_requests import StateRequests
from pybroker.broker.coordinator.share.state_writer import StateWriter
from pybroker.broker.coordinator.share.upkeep import Upkeep
from pybroker.protocol.errors import NotLeaderOrFollowerError
from pybroker.protocol.records.batch import iter_batches
from support.in_process.offsets_topic import OffsetsTopic
from support.time.virtual_timers import VirtualTimers

PARTITIONS = 2


class ShareStates:
    """``deleted``: by partition, the offset before which the coordinator had records deleted. The topics with ids in
    ``missing`` do not exist."""

    def __init__(self, settings: ShareCoordinatorSettings | None = None, topic: OffsetsTopic | None = None) -> None:
        settings = settings or ShareCoordinatorSettings()
        self.topic = topic or OffsetsTopic(PARTITIONS)
        self.now_ms = 1_000_000
        self.deleted: dict[int, int] = {}
        self.missing: set[UUID] = set()
        self.timers = VirtualTimers()
        self.registry = ShareRegistry(lambda: PARTITIONS, settings.max_bytes)
        self.writer = StateWriter(
            self.topic, self.registry, self.timers, lambda: self.now_ms, settings.write_timeout_ms
        )
        ports = ShareCoordinatorPorts(self.timers, lambda: self.now_ms, self._has_partition, self._delete)
        self.upkeep = Upkeep(settings, self.registry, self.writer, ports)
        self.requests = StateRequests(settings, self.registry, self.writer, ports)
        self._epoch = 0
        self._load()

    def move(self, *, lands: bool) -> None:
        """The next leader loads the states. ``lands``: the appends under way are in its log, though not answered."""
        for partition in self.registry.partitions():
            self.registry.ownership.release(partition, self._epoch + 1)
            for entry in self.registry.remove_partition(partition):
                self.writer.drop(entry)
        self.topic.refuse(None if lands else NotLeaderOrFollowerError())
        self.topic.release()
        self.topic.refuse(None)
        self._epoch += 1
        self._load()

    def _load(self) -> None:
        for partition in range(PARTITIONS):
            assert self.registry.ownership.begin_loading(partition, self._epoch)
            self.registry.finish_loading(partition, replayed(self.topic, partition, self.registry, self.deleted))

    def ask(self, call: str, *arguments: Any) -> list[Any]:
        """Call a method of `ShareState`. Returns a list that gets its result."""
        answers: list[Any] = []
        getattr(self.requests, call)(*arguments, answers.append)
        return answers

    def states(self) -> dict[SharePartitionKey, StoredState]:
        return states_of(
            entry for partition in self.registry.partitions() for entry in self.registry.entries_in(partition)
        )

    def replayed(self) -> dict[SharePartitionKey, StoredState]:
        """The states by the records that were not deleted."""
        return states_of(
            entry
            for partition in range(PARTITIONS)
            for entry in replayed(self.topic, partition, self.registry, self.deleted)
        )

    def _has_partition(self, topic_id: UUID, partition: int) -> bool:
        return topic_id not in self.missing

    def _delete(self, partition: int, offset: int) -> None:
        self.deleted[partition] = offset


def states_of(entries: Any) -> dict[SharePartitionKey, StoredState]:
    return {entry.key: entry.state for entry in entries if entry.state is not None}


def replayed(topic: OffsetsTopic, partition: int, registry: ShareRegistry, deleted: dict[int, int]) -> list[Entry]:
    replay = Replay(partition, registry.partition_for)
    for buffer in topic.batches[partition]:
        for batch in iter_batches(buffer):
            if batch.next_offset > deleted.get(partition, 0):
                for _ in replay.steps(batch):
                    pass
    return list(replay.entries())
