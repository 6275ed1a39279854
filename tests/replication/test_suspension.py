"""Leaderships of a broker that is cut off are suspended, and resumed when the cluster is reached again."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.protocol.errors import ErrorCode, NotLeaderOrFollowerError
from pybroker.replication.leader.offset_lookup import OffsetQuery
from pybroker.replication.partition.fetch import FetchParams
from pybroker.replication.partition.isolation import Isolation
from pybroker.replication.partition.isr import PendingIsr, PendingShrink
from pybroker.replication.partition.partition import Partition
from pybroker.replication.state_changes import Leadership
from support.in_process.partitions import FakeLog, leading_partition, partition_state
from support.in_process.replicas import TP, Replicas, batch_of, fetch_from, follower

SILENCE_MS = 6_000
ANY_SILENCE_MS = 0
"""Every follower is silent."""


def fetches(partition: Partition, broker: int, now_ms: int) -> None:
    assert partition.leader is not None
    partition.leader.replicas[broker].record_fetch(0, 0, now_ms, 0, -1)


def test_leadership_is_suspended_when_one_member_of_the_isr_does_not_fetch() -> None:
    partition = leading_partition(FakeLog(), now_ms=0)
    fetches(partition, 2, 1_000)
    fetches(partition, 3, 2_000)
    assert not partition.maybe_suspend(1_000 + SILENCE_MS - 1, SILENCE_MS)
    assert partition.is_leader
    assert partition.maybe_suspend(1_000 + SILENCE_MS, SILENCE_MS)
    assert (partition.is_leader, partition.leader_id) == (False, -1)
    assert not partition.maybe_suspend(2_000 + SILENCE_MS, SILENCE_MS)


def test_leadership_is_not_suspended_while_every_member_of_the_isr_fetches() -> None:
    partition = leading_partition(FakeLog(), state=partition_state(isr=(1, 2), replicas=(1, 2, 3)), now_ms=0)
    fetches(partition, 2, SILENCE_MS)
    assert not partition.maybe_suspend(2 * SILENCE_MS - 1, SILENCE_MS)


def test_new_leader_gives_its_followers_time_for_their_first_fetch() -> None:
    partition = leading_partition(FakeLog(), now_ms=50_000)
    assert not partition.maybe_suspend(50_000 + SILENCE_MS - 1, SILENCE_MS)
    assert partition.maybe_suspend(50_000 + SILENCE_MS, SILENCE_MS)


@pytest.mark.parametrize("replicas", [(1,), (1, 2, 3)], ids=["one replica", "others are not in sync"])
def test_leadership_without_another_member_of_the_isr_is_not_suspended(replicas: tuple[int, ...]) -> None:
    partition = leading_partition(FakeLog(), state=partition_state(isr=(1,), replicas=replicas))
    assert not partition.maybe_suspend(1_000_000, SILENCE_MS)


def test_replica_that_is_about_to_join_the_isr_counts_as_its_member() -> None:
    partition = leading_partition(FakeLog(), state=partition_state(isr=(1,), replicas=(1, 2)))
    assert partition.leader is not None
    fetches(partition, 2, 0)
    assert partition.maybe_expand_isr(partition.leader.replicas[2]) is not None
    assert not partition.maybe_suspend(SILENCE_MS - 1, SILENCE_MS)
    assert partition.maybe_suspend(SILENCE_MS, SILENCE_MS)


def test_suspended_leader_keeps_what_it_knows_of_its_followers_and_isr() -> None:
    partition = leading_partition(FakeLog(log_end_offset=10))
    before = partition.leader
    assert before is not None
    before.replicas[2].record_fetch(7, 0, 0, 10, -1)
    assert partition.maybe_suspend(SILENCE_MS, SILENCE_MS)
    assert partition.resume() is None
    assert partition.leader is before
    assert partition.leader.replicas[2].log_end_offset == 7


def test_leadership_may_resume_when_every_member_of_the_isr_has_fetched_lately() -> None:
    partition = leading_partition(FakeLog(), now_ms=0)
    assert partition.maybe_suspend(SILENCE_MS, SILENCE_MS)
    epoch = partition.leader_epoch
    assert not partition.note_refused_fetch(2, epoch, 10_000)
    assert not partition.note_refused_fetch(3, epoch, 10_000 + SILENCE_MS)
    assert not partition.note_refused_fetch(2, epoch + 1, 10_001 + SILENCE_MS)
    assert partition.note_refused_fetch(2, epoch, 10_002 + SILENCE_MS)


def test_fetches_that_a_suspended_leader_refused_count_after_it_resumes() -> None:
    partition = leading_partition(FakeLog(), now_ms=0)
    assert partition.maybe_suspend(SILENCE_MS, SILENCE_MS)
    assert not partition.note_refused_fetch(2, partition.leader_epoch, 10_000)
    assert partition.note_refused_fetch(3, partition.leader_epoch, 10_001)
    partition.resume()
    assert not partition.maybe_suspend(10_000 + SILENCE_MS - 1, SILENCE_MS)
    assert partition.maybe_suspend(10_000 + SILENCE_MS, SILENCE_MS)


class Scene(Replicas):
    """Leads the partition in leader epoch 4, with 2 in sync and 3 not. ``changes_seen``: calls of the listeners."""

    def __init__(self, directory: Path) -> None:
        self.proposed: list[PendingIsr] = []
        super().__init__(directory, propose_isr=lambda partition, change: self.proposed.append(change))
        self.changes_seen: list[tuple[list[Leadership], list[Leadership]]] = []
        self.changes.on_leadership(lambda elected, resigned: self.changes_seen.append((list(elected), list(resigned))))

    async def lead(self) -> None:
        await self.order(leader_epoch=4, isr=(1, 2), replicas=(1, 2, 3))
        self.changes_seen.clear()

    def suspend(self) -> None:
        self.partitions.suspension.suspend_silent(ANY_SILENCE_MS)
        assert self.partitions.suspension.suspended == [self.hosted()]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    scene = Scene(tmp_path)
    await scene.lead()
    yield scene
    scene.close()


async def test_suspended_leader_refuses_waiting_and_later_records(scene: Scene) -> None:
    waiting = scene.append(acks=-1, timeout_ms=60_000)
    scene.suspend()
    later = [scene.append(acks=acks) for acks in (0, 1, -1)]
    results = [result for results in (waiting, *later) for result in results]
    assert [result.error for result in results] == [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 4
    assert scene.hosted().log.log_end_offset == 1


@pytest.mark.parametrize("is_near", [False, True], ids=["consumer", "consumer that may read from followers"])
async def test_suspended_leader_refuses_waiting_and_later_fetches(scene: Scene, is_near: bool) -> None:
    params = FetchParams(60_000, 1, 1 << 20, Isolation.HIGH_WATERMARK, leader_only=not is_near)
    now, later = scene.fetch(fetch_from(0), params=params)
    assert now is None
    scene.suspend()
    assert [result.error for _, result in later[0]] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    now, _ = scene.fetch(fetch_from(0), params=params)
    assert now is not None
    assert [result.error for _, result in now] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


async def test_suspended_leader_tells_no_offsets_and_no_leader(scene: Scene) -> None:
    scene.suspend()
    with pytest.raises(NotLeaderOrFollowerError):
        scene.partitions.list_offset(TP, OffsetQuery(-1, Isolation.HIGH_WATERMARK))
    assert scene.partitions.leader_of(TP) == (-1, 4)


async def test_batch_behind_one_that_a_suspended_leader_refused_gets_the_same_error(scene: Scene) -> None:
    first, second = (batch_of(b"v", producer_id=7, producer_epoch=0, base_sequence=number) for number in (0, 1))
    scene.suspend()
    assert scene.append(first)[0].error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    scene.partitions.suspension.resume([scene.hosted()])
    errors = [scene.append(batch)[0].error for batch in (second, first, second)]
    assert errors == [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NONE, ErrorCode.NONE]


async def test_resumed_leader_recognises_a_batch_it_had_stored_before(scene: Scene) -> None:
    batch = batch_of(b"v", producer_id=7, producer_epoch=0, base_sequence=0)
    waiting = scene.append(batch, acks=-1, timeout_ms=60_000)
    scene.suspend()
    assert waiting[0].error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    scene.partitions.suspension.resume([scene.hosted()])
    again = scene.append(batch)
    assert (again[0].error, again[0].base_offset) == (ErrorCode.NONE, 0)
    assert scene.hosted().log.log_end_offset == 1


async def test_coordinators_unload_a_suspended_partition_and_load_a_resumed_one(scene: Scene) -> None:
    scene.suspend()
    scene.partitions.suspension.suspend_silent(ANY_SILENCE_MS)
    scene.partitions.suspension.resume([scene.hosted()])
    scene.partitions.suspension.resume([scene.hosted()])
    leadership = Leadership(TP, 4)
    assert scene.changes_seen == [([], [leadership]), ([leadership], [])]


async def test_fetch_of_a_follower_in_the_isr_resumes_the_leadership(scene: Scene) -> None:
    scene.append()
    scene.suspend()
    for replica_id, error in ((3, ErrorCode.NOT_LEADER_OR_FOLLOWER), (2, ErrorCode.NONE)):
        now, _ = scene.fetch(fetch_from(0, leader_epoch=4), params=follower(replica_id))
        assert now is not None
        assert now[0][1].error == error
    assert scene.hosted().partition.is_leader


async def test_fetch_does_not_resume_the_leadership_while_another_member_of_the_isr_is_silent(scene: Scene) -> None:
    await scene.order(leader_epoch=5, isr=(1, 2, 3), replicas=(1, 2, 3))
    scene.suspend()
    now, _ = scene.fetch(fetch_from(0, leader_epoch=5), params=follower(2))
    assert now is not None
    assert now[0][1].error == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert not scene.hosted().partition.is_leader


async def test_follower_that_knows_a_later_leader_epoch_does_not_resume_the_leadership(scene: Scene) -> None:
    scene.suspend()
    now, _ = scene.fetch(fetch_from(0, leader_epoch=5), params=follower(2))
    assert now is not None
    assert now[0][1].error == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert not scene.hosted().partition.is_leader


async def test_leadership_is_resumed_when_the_controller_confirms_it(scene: Scene) -> None:
    scene.suspend()
    await scene.order(leader_epoch=4, isr=(1, 2), replicas=(1, 2, 3))
    assert scene.hosted().partition.is_leader
    assert scene.partitions.suspension.suspended == []


async def test_suspended_leader_follows_the_leader_that_was_elected(scene: Scene) -> None:
    scene.suspend()
    await scene.order(leader=2, leader_epoch=5, isr=(2,), replicas=(1, 2, 3))
    scene.partitions.suspension.resume(scene.partitions.suspension.suspended)
    assert scene.hosted().partition.leader_id == 2


async def test_change_of_the_isr_without_response_is_proposed_again_when_the_leadership_resumes(scene: Scene) -> None:
    partition = scene.hosted().partition
    change = partition.maybe_shrink_isr(1 << 40)
    if change is None:  # both logs end at the same offset
        scene.append()
        change = partition.maybe_shrink_isr(1 << 40)
    assert isinstance(change, PendingShrink)
    scene.suspend()
    scene.partitions.isr_change_accepted(partition, change, (1,), 4, 5)  # came too late
    scene.partitions.suspension.resume([scene.hosted()])
    assert scene.proposed == [change]
    assert partition.leader is not None
    assert partition.leader.isr is change
