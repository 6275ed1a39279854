"""Fetchers at the end of a partition share one result, equal to the result of reading the partition."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import product
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.protocol.errors import KafkaError
from pybroker.replication.partition.fetch import FetchResult, PartitionFetch
from pybroker.replication.partition.isolation import Isolation
from pybroker.replication.partition.reader import read_partition
from pybroker.replication.partition.reads_at_end import end_for_follower, result_at_end
from support.in_process.replicas import TOPIC_ID, TP, Replicas, batch_of, consumer, fetch_from, follower, values_in

CONSUMERS = (Isolation.HIGH_WATERMARK, Isolation.COMMITTED)


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield replicas
    replicas.close()


def fetch_of(offset: int, leader_epoch: int = -1, topic_id: UUID | None = None, last_epoch: int = -1) -> PartitionFetch:
    return PartitionFetch(
        ("t", 0),
        TP,
        offset,
        1 << 20,
        topic_id=topic_id,
        current_leader_epoch=leader_epoch,
        last_fetched_epoch=last_epoch,
    )


def known(replicas: Replicas, fetch: PartitionFetch, isolation: Isolation) -> FetchResult | None:
    if isolation is Isolation.LOG_END:
        return end_for_follower(replicas.hosted(), fetch)
    return result_at_end(replicas.hosted(), fetch, consumer(isolation=isolation))


def read(replicas: Replicas, fetch: PartitionFetch, isolation: Isolation) -> FetchResult:
    params = follower(2) if isolation is Isolation.LOG_END else consumer(isolation=isolation)
    return read_partition(replicas.hosted(), fetch, params, 1 << 20, min_one_batch=True, cached_only=False)


Step = Callable[[Replicas], Awaitable[object]]


async def append(replicas: Replicas) -> None:
    replicas.append(batch_of(b"a", b"b"))


async def begin_transaction(replicas: Replicas) -> None:
    replicas.append(batch_of(b"c", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True))


async def delete_records(replicas: Replicas) -> None:
    await replicas.hosted().run(lambda log: log.increment_log_start_offset(1))


async def new_leader_epoch(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=3)


async def wait_for_a_follower(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=4, isr=(1, 2), replicas=(1, 2))
    replicas.append(batch_of(b"d"))


async def follow(replicas: Replicas) -> None:
    await replicas.order(leader=2, leader_epoch=5, isr=(1, 2), replicas=(1, 2))


async def test_shared_result_equals_a_read_of_the_partition_after_every_change(replicas: Replicas) -> None:
    steps: list[Step] = [append, delete_records, begin_transaction, new_leader_epoch, append]
    taken = dict.fromkeys(Isolation, 0)
    for step in [*steps, wait_for_a_follower, follow]:
        await step(replicas)
        hosted = replicas.hosted()
        for offset, epoch, topic_id, last_epoch, isolation in product(
            range(hosted.log.log_end_offset + 2),
            (-1, 0, 3, 4, 9),
            (None, TOPIC_ID, UUID(int=7), UUID(int=8)),
            (-1, 0, 3, 4),
            Isolation,
        ):
            fetch = fetch_of(offset, epoch, topic_id, last_epoch)
            result = known(replicas, fetch, isolation)
            if result is not None:
                assert result == read(replicas, fetch, isolation)
                taken[isolation] += 1
    assert min(taken.values()) >= 8


async def test_followers_and_consumers_share_one_result_at_the_end_of_a_partition(replicas: Replicas) -> None:
    await append(replicas)
    to_follower = known(replicas, fetch_of(2, leader_epoch=0, last_epoch=0), Isolation.LOG_END)
    assert to_follower is not None
    assert to_follower is known(replicas, fetch_of(2), Isolation.HIGH_WATERMARK)


@pytest.mark.parametrize("isolation", CONSUMERS)
async def test_all_consumers_at_the_end_share_one_result_until_something_changes(
    replicas: Replicas, isolation: Isolation
) -> None:
    await append(replicas)
    first = known(replicas, fetch_of(2), isolation)
    assert first is not None
    assert known(replicas, fetch_of(2, leader_epoch=0), isolation) is first
    await append(replicas)
    assert known(replicas, fetch_of(2), isolation) is None
    second = known(replicas, fetch_of(4), isolation)
    assert second is not None
    assert (second.high_watermark, first.high_watermark) == (4, 2)


async def test_read_committed_fetch_has_no_shared_result_while_a_transaction_is_open(replicas: Replicas) -> None:
    await append(replicas)
    await begin_transaction(replicas)
    end = replicas.hosted().partition.high_watermark
    assert known(replicas, fetch_of(end), Isolation.COMMITTED) is None
    uncommitted = known(replicas, fetch_of(end), Isolation.HIGH_WATERMARK)
    assert uncommitted is not None
    assert uncommitted.last_stable_offset == end - 1


async def test_new_log_start_offset_is_reported_without_new_records(replicas: Replicas) -> None:
    await append(replicas)
    before = known(replicas, fetch_of(2), Isolation.HIGH_WATERMARK)
    await delete_records(replicas)
    after = known(replicas, fetch_of(2), Isolation.HIGH_WATERMARK)
    assert before is not None
    assert after is not None
    assert (before.log_start_offset, after.log_start_offset) == (0, 1)


async def test_new_high_watermark_is_reported_without_a_change_of_the_log(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    await append(replicas)
    before = known(replicas, fetch_of(0), Isolation.HIGH_WATERMARK)
    view = replicas.hosted().log.view
    replicas.fetch(fetch_from(2), params=follower(2))
    after = known(replicas, fetch_of(2), Isolation.HIGH_WATERMARK)
    assert replicas.hosted().log.view is view
    assert before is not None
    assert after is not None
    assert (before.high_watermark, after.high_watermark) == (0, 2)


async def test_topic_id_of_a_fetch_is_compared_once_and_then_recognised_by_identity(replicas: Replicas) -> None:
    fetch = fetch_of(0, topic_id=UUID(int=TOPIC_ID.int))
    assert known(replicas, fetch, Isolation.HIGH_WATERMARK) is None
    read(replicas, fetch, Isolation.HIGH_WATERMARK)
    assert known(replicas, fetch, Isolation.HIGH_WATERMARK) is not None
    stranger = fetch_of(0, topic_id=UUID(int=8))
    with pytest.raises(KafkaError):
        read(replicas, stranger, Isolation.HIGH_WATERMARK)
    assert known(replicas, stranger, Isolation.HIGH_WATERMARK) is None


async def test_a_debugging_consumer_reads_beyond_the_high_watermark(replicas: Replicas) -> None:
    """Replica id -2 is no follower, and reads up to the log end."""
    await wait_for_a_follower(replicas)
    params = consumer(isolation=Isolation.LOG_END)
    params.replica_id = -2
    results, _ = replicas.fetch(fetch_of(0), params=params)
    assert results is not None
    (_, result) = results[0]
    assert (result.high_watermark, values_in(result.records)) == (0, [b"d"])
