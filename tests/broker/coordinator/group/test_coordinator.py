"""GroupCoordinator: partitions are loaded and unloaded, offsets expire, and it shuts down in order."""

import asyncio
from itertools import count

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator import leadership_moves
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.coordinator import GroupCoordinator
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.joining import JoinRequest
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.results import SyncResult
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.broker.coordinator.group.syncing import SyncRequest
from pybroker.broker.coordinator.leadership_moves import CoordinatorMoves
from pybroker.broker.coordinator.load_counts import LoadCounts
from pybroker.broker.coordinator.pending_response import PendingResponse
from pybroker.protocol.errors import ErrorCode, KafkaStorageError, NotLeaderOrFollowerError
from pybroker.replication.state_changes import Leadership
from support.clients.group_clients import NO_DELAY, SESSION_MS, CommitCall, JoinCall, SyncCall, protocols
from support.in_process.offsets_topic import AwaitedOffsetsTopic, OffsetsTopic
from support.time.virtual_time import VirtualTime

T0 = TopicPartition("t", 0)


class Broker:
    """A coordinator over a topic that exists longer than the coordinator."""

    def __init__(self, topic: OffsetsTopic | None = None, settings: GroupSettings = NO_DELAY) -> None:
        self.time = VirtualTime()
        self.log = AwaitedOffsetsTopic(topic or OffsetsTopic())
        numbers = count(1)
        self.coordinator = GroupCoordinator(
            settings, self.log, self.time, self.time.now_ms, lambda: f"{next(numbers):04}"
        )

    @property
    def partition(self) -> int:
        return self.coordinator.partition_for("g")

    async def load(self, epoch: int = 0) -> None:
        await self.coordinator.partitions.load(self.partition, epoch)

    def join(self, member_id: str = "") -> JoinCall:
        call = JoinCall()
        request = JoinRequest("g", member_id, None, "c", "/h", 60_000, SESSION_MS, "consumer", protocols("range"))
        self.coordinator.membership.join(request, call)
        return call

    async def join_and_sync(self) -> str:
        member_id = self.join().result.member_id
        call = SyncCall()
        request = SyncRequest("g", 1, member_id, assignments={member_id: b"all"})
        self.coordinator.membership.sync(request, call)
        await self.settle()
        assert call.result.assignment == b"all"
        return member_id

    async def commit(self, offset: int, member_id: str = "", generation_id: int = -1) -> ErrorCode:
        call = CommitCall()
        values = {T0: OffsetAndMetadata(offset, -1, "", self.time.now_ms())}
        self.coordinator.commits.commit(CommitRequest("g", values, member_id, None, generation_id), call)
        await self.settle()
        return call.error

    def committed(self) -> tuple[ErrorCode, int | None]:
        error, results = self.coordinator.commits.fetch("g", [T0], require_stable=False)
        return error, results[T0].offset if results else None

    async def settle(self) -> None:
        for _ in range(5):
            await asyncio.sleep(0)


async def test_a_restarted_broker_loads_groups_members_and_offsets() -> None:
    before = Broker()
    await before.load()
    member_id = await before.join_and_sync()
    assert await before.commit(5, member_id, 1) is ErrorCode.NONE
    await before.coordinator.close()

    after = Broker(before.log.store)
    await after.load()

    assert after.committed() == (ErrorCode.NONE, 5)
    assert after.coordinator.membership.heartbeat("g", member_id, None, 1) is ErrorCode.NONE
    group = after.coordinator.registry.get("g")
    assert isinstance(group, Group)
    assert (group.state, group.generation_id, group.subscribed_topics) == (GroupState.STABLE, 1, frozenset({"orders"}))
    call = SyncCall()
    after.coordinator.membership.sync(SyncRequest("g", 1, member_id), call)
    assert call.result.assignment == b"all"


async def test_members_that_are_gone_after_a_restart_are_removed_after_their_session() -> None:
    before = Broker()
    await before.load()
    member_id = await before.join_and_sync()
    after = Broker(before.log.store)
    await after.load()

    after.time.advance(SESSION_MS)

    assert after.coordinator.membership.heartbeat("g", member_id, None, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    await after.coordinator.close()


async def test_a_loaded_group_with_more_members_than_group_max_size_rebalances() -> None:
    before = Broker()
    await before.load()
    await before.join_and_sync()
    after = Broker(before.log.store, GroupSettings(initial_rebalance_delay_ms=0, max_size=0))
    await after.load()
    assert after.coordinator.administration.describe("g").state == "PreparingRebalance"
    await after.coordinator.close()


async def test_groups_of_a_partition_get_load_in_progress_while_it_is_read() -> None:
    broker = Broker()
    await broker.load()
    await broker.commit(5)
    again = Broker(broker.log.store)
    again.log.gate.clear()
    loading = asyncio.create_task(again.load())
    await again.settle()

    assert again.committed() == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None)
    await again.load()  # a second call for the same epoch does nothing
    again.log.gate.set()
    await loading
    assert again.committed() == (ErrorCode.NONE, 5)


async def test_a_partition_that_moves_while_it_is_read_gets_not_coordinator() -> None:
    broker = Broker()
    await broker.load()
    await broker.commit(5)
    again = Broker(broker.log.store)
    again.log.gate.clear()
    loading = asyncio.create_task(again.load(epoch=1))
    await again.settle()
    again.coordinator.partitions.unload(again.partition, 2)
    again.log.gate.set()
    await loading
    assert again.committed() == (ErrorCode.NOT_COORDINATOR, None)


async def test_a_newer_leadership_replaces_the_running_load_of_an_older_one() -> None:
    broker = Broker()
    await broker.load()
    await broker.commit(5)
    again = Broker(broker.log.store)
    again.log.gate.clear()
    first = asyncio.create_task(again.load(epoch=1))
    await again.settle()
    second = asyncio.create_task(again.load(epoch=3))
    await again.settle()
    again.log.gate.set()
    await asyncio.gather(first, second)
    assert again.committed() == (ErrorCode.NONE, 5)
    assert again.coordinator.registry.ownership.owns(again.partition)


async def test_loads_and_unloads_with_an_old_epoch_are_ignored() -> None:
    broker = Broker()
    await broker.load(epoch=5)
    broker.coordinator.partitions.unload(broker.partition, 4)
    assert broker.committed()[0] is ErrorCode.NONE
    broker.coordinator.partitions.unload(broker.partition, 6)
    await broker.load(epoch=5)
    assert broker.committed()[0] is ErrorCode.NOT_COORDINATOR
    await broker.load(epoch=7)
    assert broker.committed()[0] is ErrorCode.NONE
    broker.coordinator.partitions.unload(broker.partition)  # the partition was deleted
    assert broker.committed()[0] is ErrorCode.NOT_COORDINATOR


async def test_a_partition_that_cannot_be_read_gets_not_coordinator_instead_of_empty_groups() -> None:
    broker = Broker()
    broker.log.read_error = KafkaStorageError("unreadable")
    with pytest.raises(KafkaStorageError):
        await broker.load(epoch=1)
    assert broker.committed() == (ErrorCode.NOT_COORDINATOR, None)
    broker.log.read_error = None
    await broker.load(epoch=2)
    assert broker.committed() == (ErrorCode.NONE, -1)


async def test_unloading_a_partition_answers_its_members_with_not_coordinator() -> None:
    broker = Broker()
    await broker.load()
    await broker.join_and_sync()
    parked = broker.join()
    assert not parked.is_answered

    broker.coordinator.partitions.unload(broker.partition, 1)

    assert parked.result.error is ErrorCode.NOT_COORDINATOR
    assert broker.time.armed_count == 0
    assert broker.join().result.error is ErrorCode.NOT_COORDINATOR


async def test_unloading_a_partition_keeps_the_groups_of_other_partitions() -> None:
    broker = Broker()
    for partition in range(broker.log.partition_count):
        await broker.coordinator.partitions.load(partition, 0)
    await broker.commit(5)
    other = (broker.partition + 1) % broker.log.partition_count
    broker.coordinator.partitions.unload(other, 1)
    assert broker.committed() == (ErrorCode.NONE, 5)


async def test_groups_stay_in_their_partition_when_the_offsets_topic_gets_more_partitions() -> None:
    topic = OffsetsTopic()
    broker = Broker(topic)
    before = broker.partition
    await broker.load()
    await broker.commit(5)
    topic.grow(7)
    assert broker.partition != before
    assert [group.group_id for group in broker.coordinator.registry.groups()] == ["g"]
    broker.coordinator.partitions.unload(before)
    assert list(broker.coordinator.registry.groups()) == []


async def test_a_group_deleted_after_the_offsets_topic_grew_is_gone_from_its_old_partition() -> None:
    topic = OffsetsTopic()
    broker = Broker(topic)
    before = broker.partition
    await broker.load()
    await broker.commit(5)
    topic.grow(7)
    assert broker.coordinator.administration.delete_group("g") is ErrorCode.NONE
    assert broker.coordinator.registry.groups() == []
    broker.coordinator.partitions.unload(before)


async def test_a_commit_to_a_partition_that_moved_gets_not_coordinator() -> None:
    broker = Broker()
    await broker.load()
    broker.log.led = set()
    assert await broker.commit(5) is ErrorCode.NOT_COORDINATOR
    broker.log.led = None
    broker.log.append_error = NotLeaderOrFollowerError()
    assert await broker.commit(5) is ErrorCode.NOT_COORDINATOR
    broker.log.append_error = RuntimeError("bug")
    assert await broker.commit(5) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.committed() == (ErrorCode.NONE, -1)


async def test_offsets_expire_periodically() -> None:
    settings = GroupSettings(retention_ms=1_000, retention_check_interval_ms=400)
    broker = Broker(settings=settings)
    await broker.load()
    broker.coordinator.start()
    await broker.commit(5)
    broker.time.advance(999)
    assert broker.committed() == (ErrorCode.NONE, 5)
    broker.time.advance(201)
    assert broker.committed() == (ErrorCode.NONE, -1)
    await broker.coordinator.close()
    assert broker.time.armed_count == 0


async def test_closing_answers_parked_joins_and_refuses_later_requests() -> None:
    broker = Broker()
    await broker.load()
    await broker.join_and_sync()
    parked = broker.join()

    await broker.coordinator.close()

    assert parked.result.error is ErrorCode.NOT_COORDINATOR
    assert broker.join().result.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert broker.coordinator.membership.heartbeat("g", "m", None, 1) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert broker.time.armed_count == 0


async def test_loading_a_long_log_leaves_the_event_loop_free() -> None:
    broker = Broker()
    await broker.load()
    for offset in range(2_500):
        broker.coordinator.commits.commit(CommitRequest("g", {T0: OffsetAndMetadata(offset, -1, "", 1)}), CommitCall())
    await broker.coordinator.close()
    again = Broker(broker.log.store)
    loading = asyncio.create_task(again.load())
    turns = 0
    while not loading.done():
        turns += 1
        await asyncio.sleep(0)
    assert turns >= 2
    assert again.committed() == (ErrorCode.NONE, 2_499)


async def test_a_response_known_at_once_needs_no_future_and_a_cancelled_future_is_not_set() -> None:
    answer = PendingResponse[SyncResult, str](lambda result: result.error.name)
    answer(SyncResult(ErrorCode.NONE))
    assert answer.take() == "NONE"

    later = PendingResponse[SyncResult, str](lambda result: result.error.name)
    waiting = later.take()
    assert isinstance(waiting, asyncio.Future)
    later(SyncResult(ErrorCode.NONE))
    assert await waiting == "NONE"

    gone = PendingResponse[SyncResult, str](lambda result: result.error.name)
    future = gone.take()
    assert isinstance(future, asyncio.Future)
    future.cancel()
    gone(SyncResult(ErrorCode.NONE))
    assert future.cancelled()


async def test_unloading_many_partitions_one_after_another_logs_one_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leadership_moves, "_GATHERED_S", 0)
    broker = Broker()
    tasks: list[asyncio.Task[None]] = []
    moves = CoordinatorMoves([broker.coordinator.partitions], lambda work: tasks.append(asyncio.ensure_future(work)))
    caplog.set_level("INFO")
    partitions = range(broker.log.partition_count)
    led = [Leadership(TopicPartition("__consumer_offsets", partition), 0) for partition in partitions]
    moves.leadership_changed(led[1:], [])
    await asyncio.gather(*tasks)
    for each in led:
        moves.leadership_changed([], [each._replace(leader_epoch=1)])
    moves.leadership_changed([], [Leadership(T0, 1)])
    await asyncio.gather(*tasks)
    assert caplog.messages == [f"unloaded 0 groups of {len(led) - 1} partitions of __consumer_offsets"]


async def test_unloaded_groups_are_told_when_the_broker_stops_meanwhile(caplog: pytest.LogCaptureFixture) -> None:
    broker = Broker()
    tasks: list[asyncio.Task[None]] = []
    moves = CoordinatorMoves([broker.coordinator.partitions], lambda work: tasks.append(asyncio.ensure_future(work)))
    caplog.set_level("INFO")
    await broker.load()
    moves.leadership_changed([], [Leadership(TopicPartition("__consumer_offsets", broker.partition), 1)])
    await asyncio.sleep(0)
    tasks[-1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert caplog.messages == ["unloaded 0 groups of 1 partitions of __consumer_offsets"]


async def test_loading_many_partitions_logs_one_line(caplog: pytest.LogCaptureFixture) -> None:
    broker = Broker()
    caplog.set_level("INFO")
    counts = LoadCounts("__consumer_offsets", "groups", broker.time.now_ms)

    async def load(groups: int, records: int) -> None:
        with counts.loading():
            await asyncio.sleep(0)
            counts.add(groups, records)

    await asyncio.gather(*(load(2, 10) for _ in range(40)), *(load(0, 0) for _ in range(3)))
    await load(0, 0)
    assert caplog.messages == ["loaded 80 groups from 400 records of 40 partitions of __consumer_offsets in 0 ms"]
