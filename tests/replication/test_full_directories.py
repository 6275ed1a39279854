"""Replicas in full log directories: they make way for replicas on other brokers, and come back when there is space."""

import errno
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.replication.full_directories import FullDirectories
from pybroker.replication.state_changes import Leadership, ReplicaStop
from pybroker.storage.files.files import DiskSpace
from support.in_process.replicas import TP, Replicas
from support.logs.storage_faults import FaultyFiles

OTHER = TopicPartition("orders", 1)


class SmallDisk(FaultyFiles):
    """A disk whose free space the test sets."""

    usable_bytes = 1 << 40

    def disk_space(self, path: str) -> DiskSpace:
        return DiskSpace(1 << 40, self.usable_bytes)

    def fill(self) -> None:
        self.fault, self.operations, self.usable_bytes = errno.ENOSPC, ("write", "create"), 0

    def empty(self) -> None:
        self.fault, self.usable_bytes = None, 1 << 40


class Followed:
    """The partitions that are fetched, in place of `ReplicaFetchers`."""

    def __init__(self) -> None:
        self.leaders: dict[TopicPartition, int] = {}

    def follow(self, hosted: object, leader_id: int) -> None:
        self.leaders[hosted.topic_partition] = leader_id  # type: ignore[attr-defined]

    def unfollow(self, topic_partition: TopicPartition) -> None:
        self.leaders.pop(topic_partition, None)

    def topic_id_assigned(self, topic_partition: TopicPartition) -> None:
        raise AssertionError("no topic gets an id here")

    def end_idle(self) -> None:
        """There are no fetchers."""


class World:
    """Broker 1 with a partition on brokers 1, 2 and 3. `asked` counts how often the controller was to ask again."""

    def __init__(self, directory: Path) -> None:
        self.disk = SmallDisk()
        self.followed = Followed()
        self.replicas = Replicas(directory, files=self.disk, fetchers=self.followed)
        self.now_ms = 0
        self.asked = 0
        self.resigned: list[Leadership] = []
        self.replicas.partitions.monotonic_ms = lambda: self.now_ms  # type: ignore[method-assign]
        self.replicas.changes.full_directories.on_change = self._ask
        self.replicas.changes.on_leadership(lambda _elected, resigned: self.resigned.extend(resigned))

    def _ask(self) -> None:
        self.asked += 1

    async def order(
        self,
        leader_epoch: int,
        isr: tuple[int, ...],
        *,
        leader: int = 1,
        topic_partition: TopicPartition = TP,
        is_new: bool = False,
    ) -> ErrorCode:
        self.replicas.isrs[topic_partition] = isr
        return await self.replicas.order(
            topic_partition, leader=leader, leader_epoch=leader_epoch, isr=isr, replicas=(1, 2, 3), is_new=is_new
        )

    async def stop_replica(self, leader_epoch: int, *, delete: bool = False) -> None:
        await self.replicas.changes.stop_replicas([ReplicaStop(TP, leader_epoch, delete)], 1)

    async def pass_time(self, milliseconds: int) -> None:
        """Looks for space every two seconds, as the schedule does."""
        for _ in range(milliseconds // 2000):
            self.now_ms += 2000
            await self.replicas.changes.retry_for_space()


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    world = World(tmp_path)
    yield world
    world.disk.empty()
    world.replicas.close()


async def lead_and_fill(world: World, isr: tuple[int, ...] = (1, 2, 3)) -> None:
    await world.order(0, isr, is_new=True)
    assert world.replicas.append()[0].error is ErrorCode.NONE
    world.disk.fill()
    assert world.replicas.append()[0].error is ErrorCode.KAFKA_STORAGE_ERROR


async def test_leader_on_a_full_disk_hands_over_and_follows_when_there_is_space(world: World) -> None:
    await lead_and_fill(world)
    assert world.asked == 1
    assert await world.order(0, (1, 2, 3)) is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.replicas.hosted().partition.is_leader, "the controller stops it when another leader is elected"
    world.replicas.isrs[TP] = (2, 3)
    await world.stop_replica(1)
    assert world.replicas.append()[0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    await world.pass_time(60_000)
    assert (world.asked, world.followed.leaders) == (1, {})
    world.disk.empty()
    await world.pass_time(2000)
    assert world.asked == 2
    assert await world.order(1, (2, 3), leader=2) is ErrorCode.NONE
    assert world.followed.leaders == {TP: 2}
    await world.pass_time(60_000)
    assert world.asked == 2


async def test_follower_on_a_full_disk_is_reported_too_and_resumes_in_the_same_leader_epoch(world: World) -> None:
    await world.order(0, (1, 2, 3), leader=2, is_new=True)
    world.disk.fill()
    world.replicas.changes.full_directories.became_full(world.replicas.logs.directory_of(TP) or "")
    assert world.asked == 1
    assert await world.order(0, (1, 2, 3), leader=2) is ErrorCode.KAFKA_STORAGE_ERROR
    world.replicas.isrs[TP] = (2, 3)
    await world.stop_replica(0)
    assert world.followed.leaders == {}
    world.disk.empty()
    await world.pass_time(4000)
    assert await world.order(0, (2, 3), leader=2) is ErrorCode.NONE
    assert world.followed.leaders == {TP: 2}


@pytest.mark.parametrize("isr", [(1,), (1, 4)], ids=["alone in sync", "the other member is dead"])
async def test_leader_with_no_other_place_waits_for_space(world: World, isr: tuple[int, ...]) -> None:
    await lead_and_fill(world, isr)
    await world.pass_time(20_000)
    assert world.asked == 0
    assert await world.order(1, isr) is ErrorCode.NONE
    assert world.replicas.hosted().partition.is_leader
    world.disk.empty()
    await world.pass_time(4000)
    assert world.replicas.append()[0].error is ErrorCode.NONE


async def test_leader_hands_over_as_soon_as_another_replica_is_in_sync(world: World) -> None:
    await lead_and_fill(world, (1,))
    await world.pass_time(10_000)
    assert world.asked == 0
    assert await world.order(1, (1, 3)) is ErrorCode.KAFKA_STORAGE_ERROR
    assert world.resigned[-1] == Leadership(TP, 1)
    assert world.replicas.append()[0].error is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_replica_comes_back_when_it_is_the_last_member_of_the_isr(world: World) -> None:
    """All disks were full at once: each broker made way for the others."""
    await lead_and_fill(world)
    await world.order(0, (1, 2, 3))
    await world.stop_replica(1)
    world.replicas.isrs[TP] = (1,)
    await world.pass_time(4000)
    assert world.asked == 2
    assert await world.order(2, (1,), leader=-1) is ErrorCode.NONE
    assert await world.order(3, (1,)) is ErrorCode.NONE
    assert world.replicas.hosted().partition.is_leader


async def test_new_replica_on_a_full_disk_is_created_when_there_is_space(world: World) -> None:
    world.disk.fill()
    assert await world.order(0, (1, 2), is_new=True) is ErrorCode.KAFKA_STORAGE_ERROR
    await world.stop_replica(1)
    await world.pass_time(10_000)
    asked = world.asked
    world.disk.empty()
    await world.pass_time(4000)
    assert world.asked == asked + 1
    assert await world.order(1, (2,), leader=2) is ErrorCode.NONE
    assert world.followed.leaders == {TP: 2}


async def test_controller_is_asked_again_with_growing_pauses_while_it_does_not_answer(world: World) -> None:
    await lead_and_fill(world)
    asked = []
    for _ in range(5):
        await world.pass_time(30_000)
        asked.append(world.asked)
    assert asked == [4, 5, 5, 6, 6]


async def test_directory_that_is_full_again_soon_waits_longer_each_time(world: World) -> None:
    await lead_and_fill(world, (1,))
    waits = []
    for _ in range(5):
        world.disk.empty()
        directory = world.replicas.logs.directories.online()[0]
        waited_ms = 0
        while directory.is_full:
            await world.pass_time(2000)
            waited_ms += 2000
        waits.append(waited_ms)
        world.disk.fill()
        world.replicas.append()
    assert waits == [2000, 4000, 8000, 16_000, 32_000]


async def test_small_space_does_not_end_fullness(world: World) -> None:
    await lead_and_fill(world)
    world.disk.fault, world.disk.usable_bytes = None, 1 << 20
    await world.order(0, (1, 2, 3))
    await world.pass_time(20_000)
    assert world.asked == 1
    assert await world.order(0, (1, 2, 3)) is ErrorCode.KAFKA_STORAGE_ERROR


async def test_deleted_replica_is_forgotten(world: World) -> None:
    await lead_and_fill(world)
    await world.order(0, (1, 2, 3))
    await world.stop_replica(1, delete=True)
    world.disk.empty()
    await world.pass_time(20_000)
    assert world.asked == 1


async def test_disk_that_was_full_when_the_logs_were_loaded_makes_way_too(world: World) -> None:
    world.disk.fill()
    directory = world.replicas.logs.directories.online()[0]
    world.replicas.logs.directories.on_full = None
    world.replicas.logs.directories.full(directory)
    changes = world.replicas.changes
    changes.full_directories = FullDirectories(
        1,
        world.replicas.partitions,
        world.replicas.logs,
        is_alive=world.replicas.alive.__contains__,
        isr_of=lambda _: (),
        run_in_pool=world.replicas.run_in_pool,
    )
    assert await world.order(0, (1, 2), is_new=True) is ErrorCode.KAFKA_STORAGE_ERROR
    world.disk.empty()
    await world.pass_time(4000)
    assert not directory.is_full


async def test_full_directory_is_logged_in_one_line_with_the_number_of_its_logs(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    partitions = [TopicPartition("many", number) for number in range(20)]
    for partition in partitions:
        await world.order(0, (1,), topic_partition=partition, is_new=True)
    world.disk.fill()
    for partition in partitions:
        assert world.replicas.append(topic_partition=partition)[0].error is ErrorCode.KAFKA_STORAGE_ERROR
    lines = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(lines) == 1
    assert f"no space left in log directory {tmp_path} with 20 logs" in lines[0]
