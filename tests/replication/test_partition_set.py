"""Appends and reads of the partitions on a broker, over real logs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from pybroker.base.invariant import InvariantError
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode, KafkaStorageError, NotLeaderOrFollowerError
from pybroker.protocol.records.batch import iter_batches
from pybroker.replication.partition.append_request import AppendRequest
from pybroker.replication.partition.append_result import AppendResult
from pybroker.replication.partition.isr import CommittedIsr, PendingExpand, PendingIsr
from pybroker.replication.partition.partition import Partition
from pybroker.replication.partition_set import PartitionSet
from pybroker.storage.workers.worker_pool import WorkerPool
from support.in_process.replicas import (
    NOW_MS,
    TOPIC,
    TP,
    Replicas,
    batch_of,
    consumer,
    fetch_from,
    follower,
    offsets_and_values,
    values_in,
)
from support.logs.storage_pools import InlinePool

INTERNAL = TopicPartition("__consumer_offsets", 3)
READ_BYTES = 1000


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield replicas
    replicas.close()


async def drain(read: AsyncIterator[memoryview]) -> list[tuple[int, bytes | None]]:
    return [entry async for chunk in read for entry in offsets_and_values(chunk)]


async def test_leo_high_watermark_and_remote_leo_follow_each_produce_and_fetch(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    hosted = replicas.hosted()
    partition = hosted.partition
    assert partition.leader is not None
    remote = partition.leader.replicas[2]
    acked: list[int] = []
    # step, LEO, HW, LEO of broker 2, appends with acks=-1 that have been answered
    steps: list[tuple[str, int, int, int, int]] = [
        ("produce", 1, 0, -1, 0),
        ("fetch 0", 1, 0, 0, 0),
        ("produce", 2, 0, 0, 0),
        ("fetch 1", 2, 1, 1, 1),
        ("fetch 1", 2, 1, 1, 1),
        ("fetch 2", 2, 2, 2, 2),
        ("produce", 3, 2, 2, 2),
        ("fetch 3", 3, 3, 3, 3),
    ]
    for step, leo, hw, remote_leo, answered in steps:
        if step == "produce":
            replicas.partitions.append(
                AppendRequest(TP, bytearray(batch_of(b"v")), -1, 60_000, NOW_MS),
                lambda result: acked.append(result.base_offset),
            )
        else:
            replicas.fetch(fetch_from(int(step.split()[1])), params=follower(2, max_wait_ms=0))
        now = (hosted.log.log_end_offset, partition.high_watermark, remote.log_end_offset, len(acked))
        assert now == (leo, hw, remote_leo, answered), step
    assert acked == [0, 1, 2]


async def test_a_follower_that_diverges_is_not_counted_as_having_fetched(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    replicas.append()
    await replicas.order(leader_epoch=4, isr=(1, 2), replicas=(1, 2))
    results, _ = replicas.fetch(fetch_from(1, last_epoch=3), params=follower(2))
    assert results is not None
    assert results[0][1].diverging_epoch == (1, 1)
    partition = replicas.hosted().partition
    assert partition.leader is not None
    assert partition.leader.replicas[2].log_end_offset == -1
    assert partition.high_watermark == 0


async def test_a_parked_fetch_that_is_answered_later_does_not_count_as_a_fetch(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    now, later = replicas.fetch(fetch_from(0), params=follower(2))
    assert now is None
    partition = replicas.hosted().partition
    assert partition.leader is not None
    remote = partition.leader.replicas[2]
    assert remote.last_fetch_leader_end_offset == 0
    replicas.append()
    await asyncio.sleep(0)
    assert len(later) == 1
    assert remote.last_fetch_leader_end_offset == 0  # otherwise its next fetch, from 0, would count as caught up


async def test_a_caught_up_follower_is_proposed_for_the_isr(tmp_path: Path) -> None:
    proposed: list[PendingIsr] = []

    def propose(partition: Partition, change: PendingIsr) -> None:
        proposed.append(change)

    replicas = Replicas(tmp_path, propose_isr=propose)
    await replicas.order(isr=(1,), replicas=(1, 2))
    replicas.append()
    replicas.fetch(fetch_from(0), params=follower(2))
    assert proposed == []
    replicas.fetch(fetch_from(1), params=follower(2))
    assert proposed == [PendingExpand(CommittedIsr(frozenset({1})), 2)]
    replicas.close()


async def test_follower_that_may_not_join_the_isr_no_longer_delays_appends(tmp_path: Path) -> None:
    """No other event would move the high watermark: the producer waits, and the other follower has all records."""
    proposed: list[PendingIsr] = []
    replicas = Replicas(tmp_path, propose_isr=lambda _partition, change: proposed.append(change))
    results = await append_while_a_follower_is_about_to_join(replicas)
    replicas.alive.remove(3)
    (change,) = proposed
    assert not replicas.partitions.isr_change_refused(replicas.hosted().partition, change, ErrorCode.INELIGIBLE_REPLICA)
    assert [result.error for result in results] == [ErrorCode.NONE]
    replicas.close()


async def test_append_no_longer_waits_for_a_joining_follower_whose_broker_is_gone(replicas: Replicas) -> None:
    results = await append_while_a_follower_is_about_to_join(replicas)
    replicas.alive.remove(3)
    replicas.partitions.brokers_gone()
    assert [result.error for result in results] == [ErrorCode.NONE]


async def append_while_a_follower_is_about_to_join(replicas: Replicas) -> list[AppendResult]:
    """Append while broker 2 is in sync and has the record; broker 3 had all records before."""
    await replicas.order(isr=(1, 2), replicas=(1, 2, 3), leader_epoch=1, partition_epoch=1)
    replicas.fetch(fetch_from(0), params=follower(3))
    results = replicas.append(acks=-1)
    replicas.fetch(fetch_from(1), params=follower(2))
    assert (results, replicas.hosted().partition.high_watermark) == ([], 0)
    return results


async def test_an_internal_append_is_awaited_until_it_is_committed(replicas: Replicas) -> None:
    await replicas.order(INTERNAL, isr=(1, 2), replicas=(1, 2), topic_id=None)
    future = replicas.partitions.append_internal(INTERNAL, batch_of(b"a"), NOW_MS)
    assert not future.done()
    replicas.fetch(fetch_from(1, INTERNAL), params=follower(2))
    assert await future == 0
    await replicas.order(INTERNAL, leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2), topic_id=None)
    with pytest.raises(NotLeaderOrFollowerError):
        await replicas.partitions.append_internal(INTERNAL, batch_of(b"a"), NOW_MS)


async def test_all_committed_waits_until_the_high_watermark_reaches_the_log_end_of_the_call(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order(isr=(1, 2), replicas=(1, 2))
    await replicas.partitions.all_committed(TP)  # nothing is in the log
    replicas.append(batch_of(b"a"))
    waiting = asyncio.create_task(replicas.partitions.all_committed(TP))
    await asyncio.sleep(0)
    assert not waiting.done()
    replicas.append(batch_of(b"later"))
    replicas.fetch(fetch_from(1), params=follower(2, max_wait_ms=0))
    await waiting
    replicas.close()


async def test_all_committed_fails_when_another_broker_leads(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order(isr=(1, 2), replicas=(1, 2))
    replicas.append(batch_of(b"a"))
    waiting = asyncio.create_task(replicas.partitions.all_committed(TP))
    await asyncio.sleep(0)
    await replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    with pytest.raises(NotLeaderOrFollowerError):
        await waiting
    replicas.close()


async def test_internal_append_does_not_change_the_callers_bytes(replicas: Replicas) -> None:
    replicas.append()
    records = batch_of(b"a")
    before = bytes(records)
    await replicas.partitions.append_internal(TP, records, NOW_MS)
    assert records == before


async def test_read_all_returns_every_record_including_those_appended_meanwhile(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"segment.bytes": "2000"}})
    await replicas.order()
    for number in range(60):
        replicas.append(batch_of(b"%d" % number, b"x" * 100))
    replicas.hosted().log.increment_log_start_offset(10)
    read = replicas.partitions.read_all(TP, READ_BYTES)
    first = await anext(read)
    assert len(first) <= READ_BYTES
    replicas.append(batch_of(b"just in time"))
    entries = offsets_and_values(first) + await drain(read)
    assert [offset for offset, _ in entries] == list(range(10, 121))
    assert (entries[0], entries[-1]) == ((10, b"5"), (120, b"just in time"))
    replicas.close()


async def test_read_all_continues_at_a_moved_log_start(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"segment.bytes": "2000"}})
    await replicas.order()
    for number in range(60):
        replicas.append(batch_of(b"%d" % number, b"x" * 100))
    read = replicas.partitions.read_all(TP, READ_BYTES)
    before = len(offsets_and_values(await anext(read)))
    replicas.hosted().log.increment_log_start_offset(100)
    assert before < 100
    assert [offset for offset, _ in await drain(read)] == list(range(100, 120))
    replicas.close()


async def test_read_all_of_an_empty_or_missing_log_returns_nothing(replicas: Replicas) -> None:
    assert await drain(replicas.partitions.read_all(TP, READ_BYTES)) == []
    replicas.known.add(INTERNAL)
    with pytest.raises(NotLeaderOrFollowerError):
        await drain(replicas.partitions.read_all(INTERNAL, READ_BYTES))
    replicas.changes.directory_failed("somewhere", [TP])
    with pytest.raises(KafkaStorageError):
        await drain(replicas.partitions.read_all(TP, READ_BYTES))


async def test_unexpected_exception_in_an_append_is_answered_and_a_broken_invariant_reported(
    replicas: Replicas,
) -> None:
    errors: list[Exception] = [ZeroDivisionError(), InvariantError("offsets fell")]

    class BrokenStrand:
        def append(self, append: object, callback: Callable[[Exception], None]) -> None:
            callback(errors.pop(0))

    hosted = replicas.hosted()
    strand, hosted.strand = hosted.strand, BrokenStrand()  # type: ignore[assignment]
    while errors:
        (result,) = replicas.append()
        assert result.error is ErrorCode.UNKNOWN_SERVER_ERROR
    # Only the second says that nothing here can be trusted any more.
    assert [type(error) for error in replicas.broken] == [InvariantError]
    replicas.broken.clear()
    hosted.strand = strand


async def test_disjoint_waiters_do_not_disturb_each_other(replicas: Replicas) -> None:
    """Fifty fetches of fifty partitions: each append completes its own."""
    partitions = [TopicPartition("many", number) for number in range(50)]
    for each in partitions:
        await replicas.order(each, topic_id=None)
    parked = [replicas.fetch(fetch_from(0, each), params=consumer(max_wait_ms=60_000))[1] for each in partitions]
    for number, each in enumerate(partitions):
        assert [len(later) for later in parked] == [1] * number + [0] * (50 - number)
        replicas.append(topic_partition=each)
        await asyncio.sleep(0)
    assert [values_in(later[0][0][1].records) for later in parked] == [[b"value"]] * 50


async def test_appends_through_the_worker_pool_keep_their_order_and_wake_parked_fetches(tmp_path: Path) -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 3)
    replicas = Replicas(tmp_path, pool=pool)
    await replicas.order()
    patient = consumer(max_wait_ms=60_000, min_bytes=60 * 20_000, max_bytes=1 << 23)
    now, fetched = replicas.fetch(fetch_from(0, max_bytes=1 << 23), params=patient)
    assert now is None
    # Over the size that may run on the loop: these go to the pool, in groups.
    values_sent = [b"%02d" % number * 10_000 for number in range(60)]
    futures = [replicas.partitions.append_internal(TP, batch_of(value), NOW_MS) for value in values_sent]
    assert await asyncio.gather(*futures) == list(range(60))
    assert len(fetched) == 1
    values = [
        entry async for chunk in replicas.partitions.read_all(TP, READ_BYTES) for entry in offsets_and_values(chunk)
    ]
    assert values == list(enumerate(values_sent))
    for batch in iter_batches(fetched[0][0][1].records.read()):  # type: ignore[union-attr]
        assert batch.is_valid_crc()
    replicas.partitions.close()
    pool.close()
    replicas.logs.close()


async def test_an_append_accepted_before_leadership_was_lost_fails_behind_the_fence(tmp_path: Path) -> None:
    pool = WorkerPool(asyncio.get_running_loop(), 1)
    replicas = Replicas(tmp_path, pool=pool)
    await replicas.order()
    hosted = replicas.hosted()
    hosted.strand.submit(lambda log: log.fence(9))
    with pytest.raises(NotLeaderOrFollowerError):
        await replicas.partitions.append_internal(TP, batch_of(b"x" * 20_000), NOW_MS)
    assert hosted.log.log_end_offset == 0
    replicas.partitions.close()
    pool.close()
    replicas.logs.close()


async def test_positions_outside_the_page_cache_are_looked_up_in_the_worker_pool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class CountingPool(InlinePool):
        steps = 0

        def submit(self, step: Callable[[], None]) -> None:
            self.steps += 1
            super().submit(step)

    pool = CountingPool()
    replicas = Replicas(tmp_path, topics={TOPIC: {"segment.bytes": "20000"}}, pool=pool)
    await replicas.order()
    for number in range(200):
        replicas.append(batch_of(*[b"%d" % number] * 20))
    end = replicas.hosted().log.log_end_offset
    before = pool.steps
    for offset in (0, end - 100):
        results, _ = replicas.fetch(fetch_from(offset))
        assert results is not None
        assert offsets_and_values(results[0][1].records)[0][0] == offset
    assert pool.steps == before
    monkeypatch.setattr("pybroker.storage.files.files.read_if_cached", lambda fd, position, size: None)
    results, _ = replicas.fetch(fetch_from(end - 100))
    assert results is not None  # its position is remembered
    results, later = replicas.fetch(fetch_from(0))
    assert results is None
    assert pool.steps == before + 1
    await asyncio.sleep(0)
    assert offsets_and_values(later[0][0][1].records)[:2] == [(0, b"0"), (1, b"0")]
    patient = consumer(max_wait_ms=60_000, min_bytes=1 << 19)
    results, later = replicas.fetch(fetch_from(0, max_bytes=1 << 20), fetch_from(end), params=patient)
    await asyncio.sleep(0)
    assert len(later) == 1  # its segment is closed: waiting would bring no more
    replicas.close()


async def test_unknown_partition_is_not_hosted(replicas: Replicas) -> None:
    partitions: PartitionSet = replicas.partitions
    assert partitions.get(INTERNAL) is None
    assert not partitions.is_leader(INTERNAL)
    assert partitions.is_leader(TP)
    assert [hosted.topic_partition for hosted in partitions.leaders()] == [TP]


# -- batches of idempotent producers behind a refused one


def numbered(sequence: int) -> bytes:
    return batch_of(b"value", producer_id=7, producer_epoch=0, base_sequence=sequence)


def code_of(results: list[AppendResult]) -> ErrorCode:
    (result,) = results
    return result.error


async def test_batch_behind_one_refused_for_too_few_replicas_is_refused_alike(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path, {"min.insync.replicas": "2"})
    await replicas.order(isr=(1,), replicas=(1, 2))
    assert code_of(replicas.append(numbered(0), acks=-1)) is ErrorCode.NOT_ENOUGH_REPLICAS
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    assert code_of(replicas.append(numbered(1), acks=-1)) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert replicas.append(numbered(0), acks=-1) == replicas.append(numbered(1), acks=-1) == []  # they wait for 2
    replicas.close()


async def test_batch_behind_one_refused_by_a_follower_is_refused_alike_when_it_leads(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order(leader=2, isr=(1, 2), replicas=(1, 2))
    assert code_of(replicas.append(numbered(0))) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    await replicas.order(leader_epoch=1)
    assert code_of(replicas.append(numbered(1))) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert [code_of(replicas.append(numbered(each))) for each in (0, 1)] == [ErrorCode.NONE] * 2
    replicas.close()


async def test_batch_refused_under_a_new_producer_epoch_replaces_one_of_the_epoch_before(tmp_path: Path) -> None:
    def of_epoch(epoch: int, sequence: int) -> bytes:
        return batch_of(b"value", producer_id=7, producer_epoch=epoch, base_sequence=sequence)

    replicas = Replicas(tmp_path)
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [code_of(replicas.append(each)) for each in (of_epoch(0, 5), of_epoch(1, 0))] == [code] * 2
    await replicas.order()
    assert code_of(replicas.append(of_epoch(1, 1))) is code
    assert [code_of(replicas.append(of_epoch(1, each))) for each in (0, 1)] == [ErrorCode.NONE] * 2
    replicas.close()


@pytest.mark.parametrize("is_known", [False, True])
async def test_batch_behind_one_refused_before_the_log_existed_is_refused_alike(tmp_path: Path, is_known: bool) -> None:
    replicas = Replicas(tmp_path)
    if is_known:
        replicas.known.add(TP)
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER if is_known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [code_of(replicas.append(numbered(each))) for each in (0, 1)] == [code] * 2
    await replicas.order()
    assert code_of(replicas.append(numbered(2))) is code
    assert [code_of(replicas.append(numbered(each))) for each in (0, 1, 2)] == [ErrorCode.NONE] * 3
    replicas.close()
