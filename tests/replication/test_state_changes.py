"""LeaderAndIsr and StopReplica start and stop replicas, and their state survives a restart."""

import asyncio
import errno
import os
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple, NoReturn
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ControllerMovedError, ErrorCode, NotLeaderOrFollowerError
from pybroker.protocol.sentinels import EPOCH_DURING_DELETE, NO_LEADER_EPOCH
from pybroker.replication.follower.fetcher_pool import FetcherId, ReplicaFetchers
from pybroker.replication.partition.append_request import AppendRequest
from pybroker.replication.partition.append_result import AppendResult
from pybroker.replication.partition.partition import Follower
from pybroker.replication.partition.partition_state import PartitionState
from pybroker.replication.schedule import ReplicationSchedule
from pybroker.replication.state_changes import Leadership, ReplicaStop
from pybroker.storage.workers.worker_pool import WorkerPool
from support.in_process.replicas import NOW_MS, TOPIC, TOPIC_ID, TP, Replicas, batch_of, fetch_from, follower
from support.logs.storage_faults import FaultyFiles
from support.logs.storage_logs import append_as_leader, records_from
from support.time.loop_errors import loop_errors, on_purpose

OTHER = TopicPartition("other", 1)


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path)
    yield replicas
    replicas.close()


class Heard:
    """The leadership changes of which a coordinator is notified."""

    def __init__(self, replicas: Replicas) -> None:
        self.elected: list[Leadership] = []
        self.resigned: list[Leadership] = []
        replicas.changes.on_leadership(self)

    def __call__(self, elected: Sequence[Leadership], resigned: Sequence[Leadership]) -> None:
        self.elected += elected
        self.resigned += resigned


async def test_leader_creates_its_log_and_records_its_epoch_in_it(replicas: Replicas) -> None:
    assert await replicas.order(leader_epoch=5) is ErrorCode.NONE
    log = replicas.hosted().log
    assert log.topic_id == TOPIC_ID
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(5, 0)]
    replicas.append()
    await replicas.order(leader_epoch=7)
    # Noted without a record of that epoch: a follower with later records of an older one finds out where to cut.
    assert [tuple(entry) for entry in log.leader_epochs.entries] == [(5, 0), (7, 1)]


async def test_an_equal_leader_epoch_changes_nothing(replicas: Replicas) -> None:
    heard = Heard(replicas)
    await replicas.order(leader_epoch=5, isr=(1, 2), replicas=(1, 2))
    assert await replicas.order(leader_epoch=5, leader=2, partition_epoch=9) is ErrorCode.NONE
    partition = replicas.hosted().partition
    assert partition.is_leader
    assert partition.partition_epoch == 5
    assert heard.elected == [Leadership(TP, 5)]
    assert heard.resigned == []


async def test_order_with_an_older_leader_epoch_is_refused(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=5)
    assert await replicas.order(leader_epoch=4, leader=2) is ErrorCode.STALE_CONTROLLER_EPOCH
    assert replicas.hosted().partition.is_leader


async def test_order_of_an_older_controller_is_refused(replicas: Replicas) -> None:
    await replicas.order(controller_epoch=3)
    with pytest.raises(ControllerMovedError):
        await replicas.order(leader_epoch=1, controller_epoch=2)
    with pytest.raises(ControllerMovedError):
        await replicas.changes.stop_replicas([], 2)
    assert await replicas.order(leader_epoch=1, controller_epoch=3) is ErrorCode.NONE


async def test_a_broker_outside_the_assignment_hosts_nothing(replicas: Replicas) -> None:
    assert await replicas.order(leader=2, isr=(2,), replicas=(2, 3)) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert replicas.partitions.get(TP) is None
    assert replicas.logs.get(TP) is None


async def test_another_topic_of_the_same_name_is_refused(replicas: Replicas) -> None:
    await replicas.order()
    assert await replicas.order(leader_epoch=1, topic_id=UUID(int=8)) is ErrorCode.INCONSISTENT_TOPIC_ID
    assert replicas.hosted().partition.leader_epoch == 0


async def test_a_log_of_another_topic_left_on_disk_is_refused(tmp_path: Path) -> None:
    first = Replicas(tmp_path)
    await first.order()
    first.close()
    second = Replicas(tmp_path)
    assert await second.order(topic_id=UUID(int=8)) is ErrorCode.INCONSISTENT_TOPIC_ID
    assert second.partitions.get(TP) is None
    second.close()


async def test_topic_id_may_be_set_later_under_the_same_leader_epoch(replicas: Replicas) -> None:
    await replicas.order(topic_id=None)
    assert await replicas.order(topic_id=TOPIC_ID) is ErrorCode.NONE
    assert replicas.hosted().log.topic_id == TOPIC_ID


async def test_coordinators_learn_at_once_that_a_leadership_ended_even_with_a_hung_disk(replicas: Replicas) -> None:
    await replicas.order()
    heard = Heard(replicas)
    replicas.hosted().strand = HungStrand()  # type: ignore[assignment]
    order = asyncio.create_task(replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not replicas.hosted().partition.is_leader
    assert heard.resigned == [Leadership(TP, 1)]
    assert not order.done()
    order.cancel()


class HungStrand:
    def submit(self, *step: object) -> None:
        """Its disk does not answer."""


async def test_coordinators_learn_of_leadership_changes(replicas: Replicas) -> None:
    heard = Heard(replicas)
    states = [
        PartitionState(TP, 1, 0, (1,), 0, (1,), TOPIC_ID, is_new=True),
        PartitionState(OTHER, 2, 3, (2,), 0, (1, 2), is_new=True),
    ]
    codes = await replicas.changes.become_leader_or_follower(states, 1)
    assert codes == {TP: ErrorCode.NONE, OTHER: ErrorCode.NONE}
    assert heard.elected == [Leadership(TP, 0)]
    assert heard.resigned == [Leadership(OTHER, 3)]
    await replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    assert heard.resigned[1:] == [Leadership(TP, 1)]
    assert replicas.hosted().partition.role == Follower(2)
    replicas.changes.directory_failed("somewhere", [OTHER])
    assert heard.resigned[2:] == []  # it did not lead


@asynccontextmanager
async def waiting_election(tmp_path: Path, *, led_before: bool) -> AsyncIterator["WaitingElection"]:
    """An order to lead under epoch 1 that waits in the queue of the log."""
    pool = WorkerPool(asyncio.get_running_loop(), 1)
    replicas = Replicas(tmp_path, pool=pool)
    await replicas.order(leader=1 if led_before else 2, replicas=(1, 2))
    go_on = threading.Event()
    replicas.hosted().strand.submit(lambda log: go_on.wait())
    outcome = asyncio.ensure_future(replicas.order(leader_epoch=1, replicas=(1, 2)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    try:
        yield WaitingElection(replicas, go_on, outcome)
    finally:
        go_on.set()
        replicas.partitions.close()
        pool.close()
        replicas.logs.close()


class WaitingElection(NamedTuple):
    """``outcome`` comes when it may ``go_on``."""

    replicas: Replicas
    go_on: threading.Event
    outcome: asyncio.Future[ErrorCode]


async def test_an_append_accepted_under_the_old_epoch_fails_behind_the_election(tmp_path: Path) -> None:
    async with waiting_election(tmp_path, led_before=True) as election:
        late = election.replicas.partitions.append_internal(TP, batch_of(b"late"), NOW_MS)
        election.go_on.set()
        assert await election.outcome is ErrorCode.NONE
        with pytest.raises(NotLeaderOrFollowerError):
            await late
        assert election.replicas.hosted().log.log_end_offset == 0


@pytest.mark.parametrize("led_before", [True, False])
async def test_appends_during_the_start_of_a_leadership_follow_its_epoch_entry(
    tmp_path: Path, led_before: bool
) -> None:
    async with waiting_election(tmp_path, led_before=led_before) as election:
        hosted = election.replicas.hosted()
        answers = [election.replicas.append(batch_of(value)) for value in (b"one", b"two")]
        assert answers == [[], []]
        election.go_on.set()
        assert await election.outcome is ErrorCode.NONE
        await hosted.run(lambda log: None)
        assert [(each.error, each.base_offset) for (each,) in answers] == [(ErrorCode.NONE, 0), (ErrorCode.NONE, 1)]
        assert [tuple(entry) for entry in hosted.log.leader_epochs.entries][-1] == (1, 0)
        assert hosted.held_appends is None


async def test_appends_are_refused_when_the_leadership_fails_to_start(tmp_path: Path) -> None:
    async with waiting_election(tmp_path, led_before=False) as election:
        answers = election.replicas.append()
        directories = election.replicas.logs.directories
        directories.failed(directories.all[0], "pulled", OSError("gone"))
        election.go_on.set()
        assert await election.outcome is ErrorCode.KAFKA_STORAGE_ERROR
        assert [each.error for each in answers] == [ErrorCode.KAFKA_STORAGE_ERROR]


async def test_internal_appends_are_allowed_during_the_start_of_a_leadership(replicas: Replicas) -> None:
    offsets = TopicPartition("__consumer_offsets", 0)
    await replicas.order(offsets)
    answers: list[AppendResult] = []
    with replicas.hosted(offsets).hold_appends():
        request = AppendRequest(offsets, batch_of(b"one"), 1, 1000, NOW_MS)
        replicas.partitions.append(request._replace(allow_internal=True), answers.append)
        replicas.partitions.append(request, answers.append)
        assert [each.error for each in answers] == [ErrorCode.INVALID_TOPIC_EXCEPTION]
    assert [each.error for each in answers] == [ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.NONE]


async def test_failing_delayed_append_does_not_block_the_next_ones(replicas: Replicas) -> None:
    errors = loop_errors()
    await replicas.order()
    answers: list[AppendResult] = []
    with replicas.hosted().hold_appends():
        for done in (on_purpose, answers.append, on_purpose, answers.append):
            replicas.partitions.append(AppendRequest(TP, batch_of(b"one"), 1, 1000, NOW_MS), done)
    assert [(each.error, each.base_offset) for each in answers] == [(ErrorCode.NONE, 1), (ErrorCode.NONE, 3)]
    assert errors == ["on purpose"] * 2


async def test_log_of_a_new_follower_refuses_appends_accepted_as_leader(replicas: Replicas) -> None:
    await replicas.order()
    await replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    with pytest.raises(NotLeaderOrFollowerError):
        append_as_leader(replicas.hosted().log, bytearray(batch_of(b"late")), 0, NOW_MS)


# -- stopping --------------------------------------------------------------------------------------------------------


async def stop(replicas: Replicas, leader_epoch: int, *, delete: bool) -> ErrorCode:
    codes = await replicas.changes.stop_replicas([ReplicaStop(TP, leader_epoch, delete)], 1)
    return codes[TP]


@pytest.mark.parametrize("leader_epoch", [5, 6, NO_LEADER_EPOCH, EPOCH_DURING_DELETE])
async def test_a_deleted_replica_leaves_nothing_behind(replicas: Replicas, tmp_path: Path, leader_epoch: int) -> None:
    heard = Heard(replicas)
    await replicas.order(leader_epoch=5)
    replicas.append()
    now, later = replicas.fetch(fetch_from(1))
    assert now is None
    replicas.known.clear()
    assert await stop(replicas, leader_epoch, delete=True) is ErrorCode.NONE
    assert later[0][0][1].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert replicas.partitions.get(TP) is None
    assert [name for name in os.listdir(tmp_path) if name.startswith("orders-0")] == []
    # A recreated topic of this name starts with epoch 0 again, and state that is kept by epoch must know that.
    is_topic_deleted = leader_epoch == EPOCH_DURING_DELETE
    assert heard.resigned == [Leadership(TP, EPOCH_DURING_DELETE if is_topic_deleted else 5)]
    assert await replicas.order(leader_epoch=0, topic_id=UUID(int=8)) is ErrorCode.NONE
    assert replicas.hosted().log.log_end_offset == 0


async def test_a_deletion_is_answered_only_when_the_logs_name_is_free(tmp_path: Path) -> None:
    """Otherwise a recreated topic of that name would find the old directory."""
    pool = WorkerPool(asyncio.get_running_loop(), 2)
    replicas = Replicas(tmp_path, pool=pool)
    await replicas.order()
    go_on = threading.Event()
    replicas.hosted().strand.submit(lambda log: go_on.wait())
    stopping = asyncio.create_task(stop(replicas, 0, delete=True))
    await asyncio.sleep(0)
    assert not stopping.done()
    assert (tmp_path / "orders-0").exists()
    go_on.set()
    assert await stopping is ErrorCode.NONE
    assert not (tmp_path / "orders-0").exists()
    replicas.partitions.close()
    pool.close()
    replicas.logs.close()


async def test_a_stop_of_an_older_epoch_is_fenced(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=5)
    assert await stop(replicas, 4, delete=True) is ErrorCode.FENCED_LEADER_EPOCH
    assert replicas.hosted().partition.is_leader


async def test_stopped_replica_keeps_its_log_and_serves_no_requests(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=5)
    replicas.append()
    assert await stop(replicas, 5, delete=False) is ErrorCode.NONE
    (refused,) = replicas.append()
    assert refused.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert replicas.logs.get(TP) is not None
    await replicas.order(leader_epoch=6)
    (accepted,) = replicas.append()
    assert accepted.base_offset == 1


async def test_a_replica_deleted_while_the_broker_was_down_is_deleted_after_it(tmp_path: Path) -> None:
    first = Replicas(tmp_path)
    await first.order()
    first.close()
    second = Replicas(tmp_path)
    assert second.logs.get(TP) is not None
    assert await stop(second, EPOCH_DURING_DELETE, delete=True) is ErrorCode.NONE
    assert second.logs.get(TP) is None
    second.close()


# -- offline directories ---------------------------------------------------------------------------------------------


async def test_failed_directory_takes_its_partitions_offline(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, log_dirs=[tmp_path / "one", tmp_path / "two"])
    await replicas.order()
    await replicas.order(OTHER, topic_id=None)
    one, two = replicas.logs.directories.all
    assert replicas.logs.directory_of(TP) == one.path
    assert replicas.logs.directory_of(OTHER) == two.path
    waiting_consumer = replicas.fetch(fetch_from(0))[1]
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    waiting = replicas.append(acks=-1)
    assert waiting == []
    replicas.logs.directories.failed(one, "pulled", OSError("gone"))
    assert waiting[0].error is ErrorCode.KAFKA_STORAGE_ERROR
    assert waiting_consumer[0][0][1].error is ErrorCode.NONE  # it ended at the new epoch already
    assert replicas.append()[0].error is ErrorCode.KAFKA_STORAGE_ERROR
    assert await replicas.order(leader_epoch=2) is ErrorCode.KAFKA_STORAGE_ERROR
    assert await stop(replicas, 2, delete=True) is ErrorCode.KAFKA_STORAGE_ERROR
    assert replicas.append(topic_partition=OTHER)[0].error is ErrorCode.NONE
    # A replica that is not new may lie in the failed directory, so it never gets a fresh empty log.
    third = TopicPartition("third", 0)
    assert await replicas.order(third, is_new=False, topic_id=None) is ErrorCode.KAFKA_STORAGE_ERROR
    assert await replicas.order(third, is_new=True, topic_id=None) is ErrorCode.NONE
    replicas.close()


# -- across restarts -------------------------------------------------------------------------------------------------


async def test_the_high_watermark_survives_a_restart(tmp_path: Path) -> None:
    first = Replicas(tmp_path)
    await first.order(isr=(1, 2), replicas=(1, 2))
    for _ in range(4):
        first.append()
    first.fetch(fetch_from(3), params=follower(2))
    assert first.hosted().partition.high_watermark == 3
    await first.changes.checkpoint_high_watermarks()
    first.close()
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\norders 0 3\n"

    second = Replicas(tmp_path)
    await second.changes.load_high_watermarks()
    await second.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2), is_new=False)
    assert second.hosted().partition.high_watermark == 3
    assert second.hosted().log.log_end_offset == 4
    second.close()


async def test_checkpointed_high_watermark_after_the_log_end_is_lowered_to_it(tmp_path: Path) -> None:
    (tmp_path / "replication-offset-checkpoint").write_text("0\n1\norders 0 99\n")
    replicas = Replicas(tmp_path)
    await replicas.changes.load_high_watermarks()
    await replicas.order(leader=2, isr=(2,), replicas=(1, 2))
    assert replicas.hosted().partition.high_watermark == 0
    replicas.close()


async def test_schedule_writes_high_watermarks_when_it_ends(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order()
    replicas.append()
    schedule = ReplicationSchedule(
        asyncio.get_running_loop(),
        replicas.partitions,
        replicas.changes,
        checkpoint_interval_ms=3_600_000,
        replica_lag_time_max_ms=3_600_000,
    )
    schedule.start()
    await schedule.stop()
    assert (tmp_path / "replication-offset-checkpoint").read_text() == "0\n1\norders 0 1\n"
    replicas.close()


async def test_changed_topic_settings_take_effect_at_once(replicas: Replicas) -> None:
    await replicas.order(isr=(1,), replicas=(1, 2))
    replicas.topics[TOPIC] = {"min.insync.replicas": "2", "message.downconversion.enable": "false"}
    replicas.changes.topic_settings_changed(TOPIC)
    assert replicas.append(acks=-1)[0].error is ErrorCode.NOT_ENOUGH_REPLICAS
    assert not replicas.hosted().allows_down_conversion


async def test_changed_broker_settings_take_effect_at_once(replicas: Replicas) -> None:
    await replicas.order(isr=(1,), replicas=(1, 2))
    replicas.topics[TOPIC] = {"min.insync.replicas": "2"}
    replicas.changes.topic_settings_changed("another")
    assert replicas.append(acks=1)[0].error is ErrorCode.NONE
    assert replicas.hosted().partition.minimum_isr == 1
    replicas.changes.default_settings_changed()
    assert replicas.append(acks=-1)[0].error is ErrorCode.NOT_ENOUGH_REPLICAS


async def test_many_partitions_are_ordered_at_once_through_the_worker_pool(tmp_path: Path) -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 3)
    replicas = Replicas(tmp_path, pool=pool)
    states = [PartitionState(TopicPartition("many", n), 1, 0, (1,), 0, (1,), is_new=True) for n in range(40)]
    first = replicas.changes.become_leader_or_follower(states, 1)
    second = replicas.changes.become_leader_or_follower(states[:1], 1)  # waits for the first, then finds nothing new
    codes, again = await asyncio.gather(first, second)
    assert set(codes.values()) | set(again.values()) == {ErrorCode.NONE}
    assert len(replicas.partitions) == 40
    results = await asyncio.gather(
        *(replicas.partitions.append_internal(state.topic_partition, batch_of(b"a"), NOW_MS) for state in states)
    )
    assert results == [0] * 40
    replicas.partitions.close()
    pool.close()
    replicas.logs.close()


# -- full disks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operations", [("write",), ("create", "write", "truncate")])
async def test_leadership_that_a_full_disk_prevented_starts_when_there_is_space(
    tmp_path: Path, operations: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    files = FaultyFiles()
    replicas = Replicas(tmp_path, files=files)
    heard = Heard(replicas)
    files.fault, files.operations = errno.ENOSPC, operations
    assert await replicas.order() is ErrorCode.LEADER_NOT_AVAILABLE
    await replicas.changes.retry_for_space()
    assert len([line for line in caplog.messages if "waits for space" in line]) == 1
    assert (replicas.logs.directories.offline_paths(), heard.elected) == ([], [])
    files.fault = None
    await replicas.changes.retry_for_space()
    assert heard.elected == [Leadership(TP, 0)]
    assert replicas.append()[0].error is ErrorCode.NONE
    assert (tmp_path / "orders-0" / "leader-epoch-checkpoint").read_text() == "0\n1\n0 0\n"
    assert replicas.hosted().log.topic_id == TOPIC_ID
    await replicas.changes.retry_for_space()
    assert heard.elected == [Leadership(TP, 0)]
    replicas.close()


async def test_leader_whose_epoch_cannot_be_written_serves_reads_and_refuses_appends(tmp_path: Path) -> None:
    files = FaultyFiles()
    replicas = Replicas(tmp_path, files=files)
    heard = Heard(replicas)
    await replicas.order()
    replicas.append()
    files.fault, files.operations, files.suffixes = errno.ENOSPC, ("write",), ("checkpoint.tmp",)
    assert await replicas.order(leader_epoch=1) is ErrorCode.NONE
    assert heard.elected[-1] == Leadership(TP, 1)
    hosted, checkpoint = replicas.hosted(), tmp_path / "orders-0" / "leader-epoch-checkpoint"
    assert hosted.partition.is_leader
    assert records_from(hosted.log) == [(0, b"value")]
    assert hosted.log.end_offset_for_epoch(1) == (1, 1)
    for _ in range(2):
        assert replicas.append()[0].error is ErrorCode.KAFKA_STORAGE_ERROR
        await replicas.changes.retry_for_space()
    assert (hosted.log.log_end_offset, checkpoint.read_text()) == (1, "0\n1\n0 0\n")
    files.fault = None
    await replicas.changes.retry_for_space()
    assert checkpoint.read_text() == "0\n2\n0 0\n1 1\n"
    assert replicas.append()[0].error is ErrorCode.NONE
    assert replicas.logs.directories.offline_paths() == []
    replicas.close()


async def test_first_append_with_free_space_writes_the_missing_leader_epoch(tmp_path: Path) -> None:
    files = FaultyFiles()
    replicas = Replicas(tmp_path, files=files)
    await replicas.order()
    files.fault, files.operations = errno.ENOSPC, ("write",)
    assert await replicas.order(leader_epoch=1) is ErrorCode.NONE
    files.fault = None
    assert replicas.append()[0].error is ErrorCode.NONE
    assert (tmp_path / "orders-0" / "leader-epoch-checkpoint").read_text() == "0\n1\n1 0\n"
    await replicas.changes.retry_for_space()
    replicas.close()


async def test_replica_stopped_before_there_is_space_is_not_created(tmp_path: Path) -> None:
    files = FaultyFiles()
    replicas = Replicas(tmp_path, files=files)
    files.fault, files.operations = errno.ENOSPC, ("write",)
    await replicas.order()
    files.fault = None
    assert await stop(replicas, EPOCH_DURING_DELETE, delete=True) is ErrorCode.NONE
    await replicas.changes.retry_for_space()
    assert replicas.partitions.get(TP) is None
    assert not (tmp_path / "orders-0").exists()
    replicas.close()


async def test_exception_in_starting_a_fetcher_does_not_block_later_orders(tmp_path: Path) -> None:
    def fail(_: FetcherId) -> NoReturn:
        raise ValueError("on purpose")

    replicas = Replicas(tmp_path, fetchers=ReplicaFetchers(1, fail))
    errors = loop_errors()
    order = asyncio.create_task(replicas.order(leader=2, replicas=(1, 2), isr=(1, 2), leader_epoch=0))
    for _ in range(100):
        await asyncio.sleep(0)
    has_ended = order.done()
    order.cancel()
    (outcome,) = await asyncio.gather(order, return_exceptions=True)
    assert has_ended
    assert isinstance(outcome, ValueError)
    assert errors == ["on purpose"]
    assert await replicas.order(leader_epoch=1) is ErrorCode.NONE
    replicas.close()
