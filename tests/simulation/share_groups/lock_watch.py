"""Watches which brokers load share partitions, lock records and store states, by wrapping methods during a run."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from pybroker.broker.coordinator.share.ports import SharePartitionKey, StateRead, StateWrite
from pybroker.broker.coordinator.share.state_requests import StateRequests
from pybroker.broker.share.acquisition import Acquired
from pybroker.broker.share.active_share_partition import ActiveSharePartition
from pybroker.protocol.errors import ErrorCode
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.share_groups.delivery_history import DeliveryHistory, Load

__all__ = ["watched_locks", "watched_writes"]


@contextmanager
def watched_locks(
    cluster: SimulatedCluster, history: DeliveryHistory, *, begins_at_end: bool = False
) -> Iterator[None]:
    """Tell ``history`` of the loads and locks of all brokers. ``begins_at_end``: a group begins at the end of a log."""
    load, acquire = ActiveSharePartition.load, ActiveSharePartition.acquire
    counts: WeakKeyDictionary[ActiveSharePartition, Counter[int]] = WeakKeyDictionary()

    def loaded(self: ActiveSharePartition) -> None:
        place = self.place.topic_partition.topic, self.place.topic_partition.partition
        broker = cluster.current_host()
        history.loads[place].append(Load(broker, self.place.leader_epoch, cluster.loop.time()))
        if begins_at_end and history.altered.get(place) is None:
            history.begins.setdefault(place, cluster.committed_end(place))
        load(self)

    def acquired(self: ActiveSharePartition, *arguments: Any) -> list[Acquired]:
        found = acquire(self, *arguments)
        place = self.place.topic_partition.topic, self.place.topic_partition.partition
        own = counts.setdefault(self, Counter())
        for first, last, count in found:
            for offset in range(first, last + 1):
                history.locked[place][offset] += 1
                if own[offset] >= count:
                    what = f"record {offset} is locked the {count}. time after the {own[offset]}. time"
                    cluster.history.violations.append(f"{place[0]}-{place[1]}: {what}")
                own[offset] = count
        return found

    with patch.object(ActiveSharePartition, "load", loaded), patch.object(ActiveSharePartition, "acquire", acquired):
        yield


@contextmanager
def watched_writes(cluster: SimulatedCluster) -> Iterator[None]:
    """Once a leader has read a state, no leader of an earlier epoch may begin to write it."""
    read, write = StateRequests.read, StateRequests.write
    newest: dict[SharePartitionKey, int] = defaultdict(lambda: -1)

    def watched_read(
        self: StateRequests, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateRead | ErrorCode], None]
    ) -> None:
        def answered(result: StateRead | ErrorCode) -> None:
            if not isinstance(result, ErrorCode):
                newest[key] = max(newest[key], leader_epoch)
            done(result)

        read(self, key, leader_epoch, answered)

    def watched_write(
        self: StateRequests, key: SharePartitionKey, wanted: StateWrite, done: Callable[[ErrorCode], None]
    ) -> None:
        known = newest[key]

        def answered(code: ErrorCode) -> None:
            if code is ErrorCode.NONE and wanted.leader_epoch < known:
                what = f"leader epoch {wanted.leader_epoch} wrote the state that {known} had read"
                cluster.history.violations.append(f"{key}: {what}")
            done(code)

        write(self, key, wanted, answered)

    with patch.object(StateRequests, "read", watched_read), patch.object(StateRequests, "write", watched_write):
        yield
