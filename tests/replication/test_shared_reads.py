"""What consumers that are woken together and want the same are given: one read, and never another's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.replication.leader.shared_reads import SharedReads
from pybroker.replication.partition.fetch import FetchResult, PartitionFetch
from pybroker.replication.partition.isolation import Isolation
from pybroker.replication.partition.reader import read_partition
from support.in_process.replicas import TOPIC_ID, Replicas, batch_of, consumer, fetch_from, follower, values_in

ROOM = 1 << 20


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    replicas.append(batch_of(b"a"))
    yield replicas
    replicas.close()


class Turn:
    """The reads of one turn of the loop, and the way to end it."""

    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.ends: list[Callable[[], None]] = []
        self.reads = SharedReads(self.ends.append)

    def read(self, fetch: PartitionFetch, max_bytes: int = ROOM) -> FetchResult:
        """As a consumer does that finds nothing it could share."""
        params, hosted = consumer(), self.replicas.hosted()
        result = read_partition(hosted, fetch, params, max_bytes, min_one_batch=True, cached_only=False)
        self.reads.keep(hosted, fetch, params, result)
        return result

    def find(
        self, fetch: PartitionFetch, max_bytes: int = ROOM, isolation: Isolation = Isolation.HIGH_WATERMARK
    ) -> FetchResult | None:
        return self.reads.find(self.replicas.hosted(), fetch, consumer(isolation=isolation), max_bytes)


async def test_consumers_that_are_woken_together_are_given_one_read(replicas: Replicas) -> None:
    waiting = [replicas.fetch(fetch_from(1))[1] for _ in range(3)]
    other = replicas.fetch(fetch_from(1), params=consumer(isolation=Isolation.COMMITTED))[1]
    replicas.append(batch_of(b"b"))
    await asyncio.sleep(0)
    results = [later[0][0][1] for later in [*waiting, other]]
    assert [values_in(result.records) for result in results] == [[b"b"]] * 4
    assert results[0] is results[1] is results[2]
    assert results[3] is not results[0]
    assert results[3].aborted_transactions == []


async def test_followers_that_are_woken_together_are_given_one_read(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=1, isr=(1, 2, 3), replicas=(1, 2, 3))
    replicas.append(batch_of(b"b"))
    waiting = [
        replicas.fetch(fetch_from(2, leader_epoch=1, last_epoch=1), params=follower(broker))[1] for broker in (2, 3)
    ]
    to_consumer = replicas.fetch(fetch_from(2))[1]
    replicas.append(batch_of(b"c"))
    await asyncio.sleep(0)
    first, second = (later[0][0][1] for later in waiting)
    assert values_in(first.records) == [b"c"]
    assert first is second
    assert first.is_shared
    assert not to_consumer  # nothing is committed yet


async def test_a_throttled_leader_reads_for_each_follower(replicas: Replicas) -> None:
    """What one of them is given counts, and may be taken away again."""
    await replicas.order(leader_epoch=1, isr=(1, 2, 3), replicas=(1, 2, 3))
    replicas.hosted().is_throttled_as_leader = True
    waiting = [replicas.fetch(fetch_from(1), params=follower(broker))[1] for broker in (2, 3)]
    replicas.append(batch_of(b"b"))
    await asyncio.sleep(0)
    first, second = (later[0][0][1] for later in waiting)
    assert values_in(first.records) == values_in(second.records) == [b"b"]
    assert first is not second
    assert not first.is_shared


async def test_a_read_is_shared_with_who_wants_the_same(replicas: Replicas) -> None:
    turn = Turn(replicas)
    result = turn.read(fetch_from(0))
    assert values_in(result.records) == [b"a"]
    assert turn.find(fetch_from(0)) is result
    assert turn.find(fetch_from(0, leader_epoch=0)) is result
    assert turn.find(fetch_from(0, last_epoch=0)) is result
    assert turn.find(fetch_from(0), max_bytes=result.size_bytes + 1) is result


async def test_a_read_is_not_for_who_wants_or_may_have_something_else(replicas: Replicas) -> None:
    turn = Turn(replicas)
    size = turn.read(fetch_from(0)).size_bytes
    assert turn.find(fetch_from(1)) is None
    assert turn.find(fetch_from(0), max_bytes=size) is None
    assert turn.find(fetch_from(0), isolation=Isolation.COMMITTED) is None
    assert turn.find(fetch_from(0, leader_epoch=9)) is None
    assert turn.find(fetch_from(0, last_epoch=1)) is None
    stranger = fetch_from(0)
    stranger.topic_id = UUID(int=TOPIC_ID.int + 1)
    assert turn.find(stranger) is None


async def test_a_read_is_not_shared_any_more_when_the_partition_has_changed(replicas: Replicas) -> None:
    turn = Turn(replicas)
    turn.read(fetch_from(0))
    replicas.append(batch_of(b"b"))
    assert turn.find(fetch_from(0)) is None
    turn.read(fetch_from(0))
    await replicas.hosted().run(lambda log: log.increment_log_start_offset(1))
    assert turn.find(fetch_from(0)) is None
    await replicas.order(leader=2, leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    assert turn.find(fetch_from(0)) is None


async def test_a_read_is_not_shared_any_more_when_more_of_the_same_log_may_be_seen(replicas: Replicas) -> None:
    turn = Turn(replicas)
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    replicas.append(batch_of(b"b"))
    view = replicas.hosted().log.view
    assert values_in(turn.read(fetch_from(0)).records) == [b"a"]
    replicas.fetch(fetch_from(2), params=follower(2))
    assert replicas.hosted().log.view is view
    assert turn.find(fetch_from(0)) is None


async def test_what_was_cut_by_a_limit_is_not_shared(replicas: Replicas) -> None:
    turn = Turn(replicas)
    assert turn.read(fetch_from(0), max_bytes=10).is_cut
    assert turn.find(fetch_from(0)) is None


async def test_nothing_is_kept_beyond_the_turn(replicas: Replicas) -> None:
    turn = Turn(replicas)
    turn.read(fetch_from(0))
    turn.read(fetch_from(0))
    (end,) = turn.ends
    end()
    assert len(turn.reads) == 0
    turn.read(fetch_from(0))
    assert len(turn.ends) == 2
