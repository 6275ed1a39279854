"""Followers over real logs become and stay copies of the leader's log, after any failure."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path

import pytest
from pybroker.base.invariant import InvariantError
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.inter_broker.remote_leader import LeaderVersions
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import NotLeaderOrFollowerError
from pybroker.protocol.messages.fetch import FetchRequest
from pybroker.protocol.sentinels import NO_LEADER
from pybroker.replication.follower.fetch_states import FetchState, Phase
from pybroker.replication.follower.fetcher_pool import fetcher_number
from pybroker.replication.partition.hosted_partition import HostedPartition
from pybroker.replication.state_changes import ReplicaStop
from pybroker.storage.log.log_append import FollowerAppend
from pybroker.storage.log.log_truncation import truncate_fully_and_start_at, truncate_to
from support.in_process.replica_cluster import (
    BEFORE_DIVERGENCE_IN_FETCH,
    LATEST_VERSIONS,
    ReplicaBroker,
    ReplicaCluster,
)
from support.in_process.replicas import TP, batch_of
from support.logs.storage_pools import ManualPool

NewCluster = Callable[..., ReplicaCluster]


@pytest.fixture
def new_cluster(tmp_path: Path) -> Iterator[NewCluster]:
    made: list[ReplicaCluster] = []

    def new(*arguments: int, **options: object) -> ReplicaCluster:
        made.append(ReplicaCluster(tmp_path, *arguments, **options))  # type: ignore[arg-type]
        return made[-1]

    yield new
    for cluster in made:
        cluster.close()


versions = pytest.mark.parametrize(
    "versions",
    [LATEST_VERSIONS, LATEST_VERSIONS._replace(fetch=12), BEFORE_DIVERGENCE_IN_FETCH],
    ids=["topic ids", "names", "epochs asked for"],
)


@versions
async def test_follower_log_becomes_a_copy_of_the_leaders_log(
    new_cluster: NewCluster, versions: LeaderVersions
) -> None:
    cluster = new_cluster(versions=versions)
    await cluster.order(1, 0)
    leader, follower = cluster[1], cluster[2]
    for number in range(10):
        leader.produce(batch_of(b"%d" % number))
    await follower.fetch_from(1, times=3)
    assert follower.records() == leader.records()
    assert follower.offsets == leader.offsets == (0, 10, 10)
    assert follower.epochs() == leader.epochs()
    leader.produce(batch_of(b"more"))
    await follower.fetch_from(1, times=3)
    assert follower.records() == leader.records()
    assert follower.offsets == (0, 11, 11)


@versions
async def test_records_that_only_the_follower_has_are_truncated_by_epoch(
    new_cluster: NewCluster, versions: LeaderVersions
) -> None:
    cluster = new_cluster(versions=versions)
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"common"))
    await cluster[2].fetch_from(1)
    cluster[1].produce(batch_of(b"lost", b"lost too"))
    await cluster.order(2, 1)
    cluster[2].produce(batch_of(b"kept"))
    assert cluster[1].records()[1:] == [(1, b"lost"), (2, b"lost too")]
    await cluster[1].fetch_from(2, times=2)
    assert cluster[1].records() == cluster[2].records() == [(0, b"common"), (1, b"kept")]
    assert cluster[1].epochs() == cluster[2].epochs() == [(0, 0), (1, 1)]


async def test_diverging_logs_of_equal_length_are_truncated(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"1 alone"))
    await cluster.order(2, 1, to=(2,))
    cluster[2].produce(batch_of(b"2 alone"))
    await cluster.order(2, 1, to=(1,))
    await cluster[1].fetch_from(2, times=2)
    assert cluster[1].records() == cluster[2].records() == [(0, b"2 alone")]


@versions
async def test_logs_that_diverged_in_several_epochs_agree_after_several_fetches(
    new_cluster: NewCluster, versions: LeaderVersions
) -> None:
    cluster = new_cluster(versions=versions)
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"a"))
    await cluster[2].fetch_from(1)
    for leader, epoch in ((2, 1), (1, 2), (2, 3), (1, 4), (2, 5)):  # unclean elections: no leader knows of the others
        await cluster.order(leader, epoch, to=(leader,))
        cluster[leader].produce(batch_of(b"of epoch %d" % epoch))
    await cluster.order(2, 5, to=(1,))
    await cluster[1].fetch_from(2, times=6)
    assert cluster[1].records() == cluster[2].records()
    assert cluster[1].epochs() == cluster[2].epochs()


async def test_log_without_epochs_is_truncated_to_its_high_watermark(new_cluster: NewCluster) -> None:
    """Its records are older than leader epochs (message formats 0 and 1)."""
    cluster = new_cluster()
    await cluster.order(1, 0)
    for value in (b"a", b"b", b"c"):
        cluster[1].produce(batch_of(value))
    await cluster[2].fetch_from(1, times=3)
    cluster[1].produce(batch_of(b"d"))
    await cluster[2].fetch_from(1)
    hosted = cluster[2].hosted()
    hosted.log.leader_epochs.clear()
    assert cluster[2].offsets == (0, 3, 4)
    await cluster.order(1, 1, to=(2,))
    assert cluster[2].fetcher(1).states.get(TP).phase is Phase.TRUNCATING  # type: ignore[union-attr]
    await cluster.order(1, 1, to=(1,))
    await cluster[2].fetch_from(1)
    assert [request.topics[0].partitions[0].fetch_offset for request in fetches_of(cluster[2])[-1:]] == [3]
    assert cluster[2].records() == cluster[1].records()


async def test_follower_behind_the_leaders_log_start_restarts_there(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"a", b"b"))
    await cluster[2].fetch_from(1, times=2)
    for value in (b"c", b"d", b"e"):
        cluster[1].produce(batch_of(value))
    await cluster[1].hosted().run(lambda log: log.increment_log_start_offset(4))
    await cluster[2].fetch_from(1)
    assert cluster[2].offsets == (4, 4, 4)
    await cluster[2].fetch_from(1)
    assert cluster[2].records() == [(4, b"e")]
    assert cluster[2].epochs() == [(0, 4)]


async def test_follower_without_a_common_epoch_is_truncated_to_the_leaders_log_end(
    new_cluster: NewCluster,
) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"a"))
    cluster[1].produce(batch_of(b"b"))
    await cluster[2].fetch_from(1, times=2)
    await cluster[1].hosted().run(lambda log: truncate_to(log, 1, 0))
    cluster[1].hosted().log.leader_epochs.clear()
    await cluster[2].fetch_from(1)
    assert cluster[2].records() == [(0, b"a")]
    assert cluster[2].fetchers.failed == []


async def test_follower_advances_its_log_start_to_the_leaders(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    for value in (b"a", b"b", b"c"):
        cluster[1].produce(batch_of(value))
    await cluster[2].fetch_from(1, times=3)
    await cluster[1].hosted().run(lambda log: log.increment_log_start_offset(2))
    await cluster[2].fetch_from(1)
    assert cluster[2].offsets == (2, 3, 3)


async def test_new_follower_takes_a_log_start_inside_a_batch(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"a", b"b", b"c"))
    await cluster[2].fetch_from(1, times=3)
    await cluster[1].hosted().run(lambda log: log.increment_log_start_offset(1))
    await cluster[2].hosted().run(lambda log: truncate_fully_and_start_at(log, 0, 0))
    await cluster.order(1, 1)
    await cluster[2].fetch_from(1, times=4)
    assert cluster[2].records() == [(1, b"b"), (2, b"c")]
    assert cluster[2].offsets == (1, 3, 3)


async def test_a_follower_of_an_older_epoch_waits_for_the_next_order(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    await cluster.order(1, 1, to=(1,))
    await cluster[2].fetch_from(1)
    assert cluster[2].fetchers.failed == [TP]
    assert await cluster[2].fetcher(1).step() is True  # the partition is forgotten in the session
    assert await cluster[2].fetcher(1).step() is False
    cluster[1].produce(batch_of(b"a"))
    await cluster.order(1, 1, to=(2,))
    assert cluster[2].fetchers.failed == []
    await cluster[2].fetch_from(1)
    assert cluster[2].records() == [(0, b"a")]


async def test_follower_ordered_before_its_leader_waits_for_the_leader(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    await cluster.order(1, 1, to=(2,))
    await cluster[2].fetch_from(1)
    assert cluster[2].fetchers.failed == []
    cluster[1].produce(batch_of(b"a"))
    await cluster.order(1, 1, to=(1,))
    await cluster[2].fetch_from(1, times=2)
    assert cluster[2].records() == [(0, b"a")]


async def test_fetch_session_after_an_outage_names_all_partitions(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    await cluster[2].fetch_from(1, times=3)
    assert [(each.session_epoch, len(each.topics)) for each in fetches_of(cluster[2])] == [(0, 1), (1, 0), (2, 0)]
    link = cluster[2].fetcher(1).link
    link.is_cut = True
    await cluster[2].fetch_from(1)
    link.is_cut = False
    cluster[1].produce(batch_of(b"a"))
    await cluster[2].fetch_from(1, times=2)
    after = fetches_of(cluster[2])[-2:]
    assert [(each.session_epoch, len(each.topics)) for each in after] == [(0, 1), (1, 1)]
    assert after[0].session_id == link.answered[0].session_id  # the leader may close the old one
    assert cluster[2].records() == [(0, b"a")]


async def test_response_overtaken_by_a_leader_change_is_dropped(new_cluster: NewCluster) -> None:
    cluster = new_cluster(3)
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"of the old leader"))
    fetcher = cluster[3].fetcher(1)

    class Overtaken:
        """The new order comes in while the response is on its way."""

        async def ask(self, *arguments: object) -> object:
            answer = await link.ask(*arguments)  # type: ignore[arg-type]
            await cluster.order(2, 1)
            cluster[2].produce(batch_of(b"of the new one"))
            return answer

        def kill(self) -> None:
            """It ends with its partition."""

    link = fetcher.link
    fetcher._leader._link = Overtaken()  # type: ignore[attr-defined]
    await fetcher.step()
    assert cluster[3].records() == []
    await cluster[3].fetch_from(2)
    assert cluster[3].records() == [(0, b"of the new one")]


async def test_stopped_replica_is_no_longer_fetched(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    fetcher = cluster[2].fetcher(1)
    await cluster[2].changes.stop_replicas([ReplicaStop(TP, 0, delete=False)], 1)
    cluster[1].produce(batch_of(b"a"))
    assert len(cluster[2].fetchers) == 0
    assert len(fetcher.states) == 0
    assert fetcher.link.is_cut


async def test_broker_in_controlled_shutdown_follows_no_new_leader(new_cluster: NewCluster) -> None:
    """The broker may not join the ISR, and the new leader would wait for it."""
    cluster = new_cluster(3)
    await cluster.order(1, 0)
    cluster[3].fetchers.follow_nobody_anew()
    cluster[1].produce(batch_of(b"a"))
    await cluster[3].fetch_from(1)
    assert cluster[3].records() == [(0, b"a")], "it goes on with what it follows"
    await cluster.order(2, 1)
    assert TP not in cluster[3].fetchers
    assert len(cluster[3].fetchers) == 0


async def test_replica_in_a_failed_directory_is_no_longer_fetched(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    fetcher = cluster[2].fetcher(1)
    cluster[2].changes.directory_failed("/somewhere", [TP])
    assert len(fetcher.states) == 0
    assert cluster[2].partitions.is_offline(TP)


async def test_a_partition_without_a_leader_is_not_fetched(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    await cluster.order(NO_LEADER, 1)
    assert len(cluster[2].fetchers) == 0


async def test_corrupt_records_are_fetched_again(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"a"))
    link = cluster[2].fetcher(1).link
    true_ask = link.ask

    async def broken(request: Message, version: int, timeout_ms: int) -> object:
        answer = await true_ask(request, version, timeout_ms)
        answer.responses[0].partitions[0].records[-1] ^= 1
        return answer

    link.ask = broken  # type: ignore[method-assign]
    await cluster[2].fetch_from(1)
    assert cluster[2].offsets == (0, 0, 0)
    assert cluster[2].fetchers.failed == []
    link.ask = true_ask  # type: ignore[method-assign]
    await cluster[2].fetch_from(1)
    assert cluster[2].records() == [(0, b"a")]


async def test_many_partitions_share_a_session_and_each_gets_its_own(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    partitions = [TopicPartition(TP.topic, number) for number in range(5)]
    for each in partitions:
        await cluster.order(1, 0, topic_partition=each)
    for each in partitions[:3]:
        cluster[1].append(batch_of(b"in %d" % each.partition), each)
    await cluster[2].fetch_from(1, times=2)
    for each in partitions:
        assert cluster[2].records(each) == cluster[1].records(each)
    first, second = fetches_of(cluster[2])
    assert [partition.partition for partition in first.topics[0].partitions] == [0, 1, 2, 3, 4]
    assert [partition.partition for partition in second.topics[0].partitions] == [0, 1, 2]  # those that have moved
    await cluster[2].changes.stop_replicas([ReplicaStop(partitions[0], 0, delete=False)], 1)
    await cluster[2].fetch_from(1)
    assert [topic.partitions for topic in fetches_of(cluster[2])[-1].forgotten_topics_data] == [[0]]


def test_a_partition_goes_to_the_fetcher_that_kafka_gives_it_to() -> None:
    """By Utils.abs(31 * topic.hashCode() + partition) % count, as a JVM says."""
    assert [fetcher_number(TopicPartition("orders", each), 7) for each in range(4)] == [
        abs(_signed(31 * -1008770331 + each)) % 7 for each in range(4)
    ]
    assert fetcher_number(TopicPartition("\U0001f600", 0), 1000) == abs(_signed(31 * 1772899)) % 1000


def _signed(number: int) -> int:
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)


async def test_changing_num_replica_fetchers_moves_partitions_without_loss(new_cluster: NewCluster) -> None:
    cluster = new_cluster(settings={"num.replica.fetchers": "1"})
    partitions = [TopicPartition(TP.topic, number) for number in range(6)]
    for each in partitions:
        await cluster.order(1, 0, topic_partition=each)
        cluster[1].append(batch_of(b"in %d" % each.partition), each)
    await cluster[2].fetch_from(1)
    cluster[2].fetchers.resize(3)
    assert len(cluster[2].fetchers) == 3
    for each in partitions:
        cluster[1].append(batch_of(b"more"), each)
    for number in range(3):
        await cluster[2].fetcher(1, number).step()
    for each in partitions:
        assert cluster[2].records(each) == cluster[1].records(each)


async def turns(condition: Callable[[], object]) -> None:
    for _ in range(10_000):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it does not come to be")


def fetches_of(broker: ReplicaBroker, leader_id: int = 1) -> list[FetchRequest]:
    return [request for request, _ in broker.fetcher(leader_id).link.asked if isinstance(request, FetchRequest)]


async def test_followed_topic_is_fetched_by_its_topic_id_once_it_has_one(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0, topic_id=None)
    cluster[1].produce(batch_of(b"a"))
    await cluster[2].fetch_from(1)
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"b"))
    await cluster[2].fetch_from(1, times=2)
    assert [version for _, version in cluster[2].fetcher(1).link.asked] == [12, 17, 17]
    assert cluster[2].records() == [(0, b"a"), (1, b"b")]


async def test_queued_append_of_the_old_leader_is_refused_after_the_new_epochs_fence(new_cluster: NewCluster) -> None:
    """The append waits in the queue of a busy log while this broker is ordered to follow another leader."""
    pool = ManualPool()
    cluster = new_cluster(3)
    await cluster.order(1, 0)
    await cluster[3].fetch_from(1)
    cluster[1].produce(batch_of(b"of the old leader"))
    hosted = cluster[3].hosted()
    hosted.strand._pool = pool
    hosted.strand.submit(lambda log: None)  # whatever keeps it busy
    fetching = asyncio.create_task(cluster[3].fetch_from(1))
    await turns(lambda: len(hosted.strand._queue) == 2)
    following = asyncio.create_task(cluster.order(2, 1, to=(2, 3)))
    # The fence runs after the append and before the first fetch from the new leader, so the log end is known.
    await turns(lambda: len(hosted.strand._queue) == 3)
    pool.run()
    await asyncio.gather(fetching, following)
    assert cluster[3].records() == [(0, b"of the old leader")]
    hosted.strand._pool = cluster[3].pool
    cluster[2].produce(batch_of(b"of the new one"))
    await cluster[3].fetch_from(2, times=2)
    assert cluster[3].records() == [(0, b"of the new one")]
    late: list[object] = []
    hosted.strand.append(FollowerAppend(batch_of(b"late"), 0, 0), late.append)
    assert isinstance(late[0], NotLeaderOrFollowerError)


async def give_up_an_order(hosted: HostedPartition, ordered: Coroutine[object, object, object]) -> ManualPool:
    """Cancel an order to ``hosted`` while its fence is queued; returns the pool that will run the fence."""
    pool = ManualPool()
    hosted.strand._pool = pool
    hosted.strand.submit(lambda log: None)  # whatever keeps it busy
    order = asyncio.create_task(ordered)
    await turns(lambda: len(hosted.strand._queue) == 2)
    order.cancel()
    await asyncio.gather(order, return_exceptions=True)
    return pool


async def test_cancelled_follow_order_is_still_carried_out(new_cluster: NewCluster) -> None:
    """A controller on the same broker resigns; what the next one orders under the same leader epoch is nothing new."""
    cluster = new_cluster()
    await cluster.order(1, 0)
    hosted = cluster[2].hosted()
    pool = await give_up_an_order(hosted, cluster.order(1, 1))
    pool.run()
    hosted.strand._pool = cluster[2].pool
    await cluster.order(1, 1)
    cluster[1].produce(batch_of(b"a"))
    await cluster[2].fetch_from(1)
    assert cluster[2].records() == [(0, b"a")]


async def test_cancelled_follow_order_does_not_undo_the_next_one(new_cluster: NewCluster) -> None:
    cluster = new_cluster(3)
    await cluster.order(1, 0)
    hosted = cluster[3].hosted()
    pool = await give_up_an_order(hosted, cluster.order(1, 1, to=(3,)))
    await cluster.order(2, 2, to=(2,))
    following = asyncio.create_task(cluster.order(2, 2, to=(3,)))
    await turns(lambda: len(hosted.strand._queue) == 3)
    pool.run()
    await following
    hosted.strand._pool = cluster[3].pool
    cluster[2].produce(batch_of(b"of the new leader"))
    await cluster[3].fetch_from(2)
    assert cluster[3].records() == [(0, b"of the new leader")]
    assert not len(cluster[3].fetcher(1).states)


async def test_implausible_responses_are_logged_and_do_not_block_the_fetcher(
    new_cluster: NewCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = ManualPool()
    cluster = new_cluster()
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"a"))
    hosted = cluster[2].hosted()
    hosted.strand._pool = pool
    hosted.strand.submit(lambda log: None)  # whatever keeps it busy
    fetching = asyncio.create_task(cluster[2].fetch_from(1))
    await turns(lambda: len(hosted.strand._queue) == 2)

    def broken(*arguments: object) -> None:
        raise InvariantError("on purpose")

    monkeypatch.setattr(FetchState, "advanced", broken)
    pool.run()
    await turns(fetching.done)
    assert [str(error) for error in cluster[2].broken] == ["on purpose"]
    cluster[2].broken.clear()


async def test_new_leader_drops_the_fetching_started_by_an_earlier_order(new_cluster: NewCluster) -> None:
    """The earlier order was cancelled while its fence was queued, so the next order comes before the fence."""
    cluster = new_cluster(3)
    await cluster.order(1, 0)
    hosted = cluster[3].hosted()
    pool = await give_up_an_order(hosted, cluster.order(1, 1, to=(3,)))
    leading = asyncio.create_task(cluster.order(3, 2, to=(3,)))
    await turns(lambda: len(hosted.strand._queue) == 3)
    pool.run()
    await leading
    hosted.strand._pool = cluster[3].pool
    assert hosted.partition.is_leader
    assert TP not in cluster[3].fetchers
    assert len(cluster[3].fetchers) == 0


async def test_fetcher_continues_while_partitions_are_added_and_removed(new_cluster: NewCluster) -> None:
    cluster = new_cluster(runs=True, max_wait_ms=3_600_000)
    partitions = [TopicPartition(TP.topic, number) for number in range(3)]
    await cluster.order(1, 0, topic_partition=partitions[0])

    async def copied(topic_partition: TopicPartition) -> None:
        logs = [cluster[broker_id].hosted(topic_partition).log for broker_id in (1, 2)]
        await turns(lambda: logs[0].log_end_offset == logs[1].log_end_offset)

    for number in range(5):
        cluster[1].append(batch_of(b"%d" % number), partitions[0])
        await copied(partitions[0])
    for each in partitions[1:]:
        await cluster.order(1, 0, topic_partition=each)
        cluster[1].append(batch_of(b"in another"), each)
    cluster[1].append(batch_of(b"wakes the fetch that is parked at the leader"), partitions[0])
    for each in partitions:
        await copied(each)
    await cluster[2].changes.stop_replicas([ReplicaStop(each, 0, delete=False) for each in partitions], 1)
    assert len(cluster[2].fetchers) == 0
    assert cluster[2].broken == []


async def test_throttled_partition_is_left_out_until_the_throttle_allows_it(new_cluster: NewCluster) -> None:
    cluster = new_cluster()
    await cluster.order(1, 0)
    cluster[1].produce(batch_of(b"a"))
    fetcher = cluster[2].fetcher(1)
    held_back = [TP]
    taken: list[int] = []
    fetcher._is_held_back = held_back.__contains__
    fetcher._received = lambda topic_partition, size_bytes: taken.append(size_bytes)
    assert await fetcher.step() is False
    held_back.clear()
    await cluster[2].fetch_from(1, times=3)
    assert taken == [cluster[1].hosted().log.size_bytes]
    held_back.append(TP)
    cluster[1].produce(batch_of(b"b"))
    await cluster[2].fetch_from(1)  # it is in sync: to hold it back would push it out
    assert cluster[2].records() == [(0, b"a"), (1, b"b")]
