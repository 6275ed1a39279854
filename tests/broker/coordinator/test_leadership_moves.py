"""Moves of leaderships reach the coordinator of their topic, and no other."""

import asyncio
import warnings
from collections.abc import Iterator

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.append_bridge import AppendBridge
from pybroker.broker.coordinator.coordinator_partitions import CoordinatorPartitions
from pybroker.broker.coordinator.leadership_moves import CoordinatorMoves
from pybroker.broker.coordinator.ownership import PartitionOwnership
from pybroker.broker.coordinator.partition_reading import PartitionReading
from pybroker.protocol.records.batch import RecordBatch
from pybroker.replication.state_changes import Leadership
from support.in_process.offsets_topic import AwaitedOffsetsTopic, OffsetsTopic
from support.time.loop_turns import let_the_loop_turn

GROUPS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


class NothingToReplay:
    record_count = 0

    def steps(self, batch: RecordBatch) -> Iterator[None]:
        return iter(())

    def entries(self) -> Iterator[str]:
        return iter(())


class Coordinator:
    """Notes the partitions that it has loaded and forgotten."""

    kind = "names"

    def __init__(self, topic: str) -> None:
        log = AwaitedOffsetsTopic(OffsetsTopic())
        log.topic = topic
        self.ownership = PartitionOwnership()
        self.partitions: CoordinatorPartitions[str] = CoordinatorPartitions(
            log, self.ownership, self, AppendBridge(log), lambda: 0
        )
        self.told: list[tuple[str, int]] = []

    def new_replay(self, partition: int) -> NothingToReplay:
        return NothingToReplay()

    def loaded(self, partition: int, entries: list[str]) -> None:
        self.ownership.finish_loading(partition)
        self.told.append(("loaded", partition))

    def unloaded(self, partition: int) -> int:
        self.told.append(("unloaded", partition))
        return 0


async def test_each_coordinator_hears_of_the_partitions_of_its_own_topic() -> None:
    groups, transactions = Coordinator(GROUPS), Coordinator(TRANSACTIONS)
    tasks: list[asyncio.Task[None]] = []
    moves = CoordinatorMoves(
        [groups.partitions, transactions.partitions], lambda work: tasks.append(asyncio.ensure_future(work))
    )
    elected = [Leadership(TopicPartition(topic, number), 3) for topic, number in ((GROUPS, 0), (TRANSACTIONS, 1))]

    moves.leadership_changed([*elected, Leadership(TopicPartition("events", 2), 3)], [])
    await asyncio.gather(*tasks)
    assert (groups.told, transactions.told) == ([("loaded", 0)], [("loaded", 1)])

    moves.leadership_changed([], [Leadership(TopicPartition(GROUPS, 0), 4), Leadership(TopicPartition("events", 2), 4)])
    moves.partitions_deleted([TopicPartition(TRANSACTIONS, 1), TopicPartition("events", 2)])
    assert (groups.told[1:], transactions.told[1:]) == ([("unloaded", 0)], [("unloaded", 1)])
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_coordinator_on_demand_is_made_when_this_broker_first_leads_a_partition_of_its_topic() -> None:
    made: list[Coordinator] = []
    tasks: list[asyncio.Task[None]] = []

    def make() -> CoordinatorPartitions[str]:
        made.append(Coordinator(TRANSACTIONS))
        return made[0].partitions

    moves = CoordinatorMoves([], lambda work: tasks.append(asyncio.ensure_future(work)), {TRANSACTIONS: make})
    first, second = (TopicPartition(TRANSACTIONS, number) for number in (1, 2))
    moves.leadership_changed([Leadership(TopicPartition(GROUPS, 0), 3)], [Leadership(first, 3)])
    moves.partitions_deleted([first])
    assert made == []
    moves.leadership_changed([Leadership(first, 4), Leadership(second, 4)], [])
    await asyncio.gather(*tasks)
    moves.leadership_changed([], [Leadership(second, 5)])
    assert [each.told for each in made] == [[("loaded", 1), ("loaded", 2), ("unloaded", 2)]]
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_load_that_a_kill_cancels_before_it_begins_is_dropped_without_a_warning() -> None:
    groups = Coordinator(GROUPS)
    tasks: list[asyncio.Task[None]] = []
    moves = CoordinatorMoves([groups.partitions], lambda work: tasks.append(asyncio.ensure_future(work)))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        moves.leadership_changed([Leadership(TopicPartition(GROUPS, 0), 3)], [])
        tasks[0].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        tasks.clear()
    assert warned == []
    assert groups.told == []


async def test_nothing_is_loaded_when_the_leadership_ends_while_the_records_are_being_committed() -> None:
    log = AwaitedOffsetsTopic(OffsetsTopic())
    log.commits.clear()
    is_wanted = True
    loading = asyncio.ensure_future(PartitionReading(log).entries_of(0, NothingToReplay(), lambda: is_wanted))
    await let_the_loop_turn()
    is_wanted = False
    log.commits.set()
    assert await loading is None


async def test_partitions_whose_records_wait_for_replicas_do_not_delay_loads_of_others() -> None:
    log = AwaitedOffsetsTopic(OffsetsTopic(20))
    log.commits.clear()
    reading = PartitionReading(log)
    loads = [asyncio.ensure_future(reading.entries_of(number, NothingToReplay(), lambda: True)) for number in range(20)]
    await let_the_loop_turn(100)
    assert log.were_read == set(range(20))
    log.commits.set()
    await asyncio.gather(*loads)
