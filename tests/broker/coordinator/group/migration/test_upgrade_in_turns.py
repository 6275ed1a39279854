"""A classic group with members is made a consumer group in turns of the event loop; it may change meanwhile."""

from collections.abc import Callable, Generator

import pytest
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.migration import upgrades
from pybroker.broker.coordinator.group.migration.upgrade import UpgradeDraft, draft_steps
from pybroker.broker.coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from pybroker.broker.coordinator.group.modern.topics import TopicLookup
from pybroker.broker.coordinator.group.offset_batch import BegunBatch
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from support.in_process.classic_client import ClassicClient, assignment, share
from support.in_process.consumer_groups import GROUP, Topics, heartbeat, stored_state
from support.in_process.consumer_world import ConsumerWorld

PARTITIONS = [("t", number) for number in range(4)]


async def classic_world(size: int = 2) -> tuple[ConsumerWorld, list[ClassicClient]]:
    world = await ConsumerWorld.loaded(Topics(t=4, u=1))
    clients = [ClassicClient(world, f"client-{number}", "t") for number in range(size)]
    await share(world, clients, PARTITIONS)
    return world, clients


def classic_group(world: ConsumerWorld) -> Group:
    group = world.coordinator.registry.get(GROUP)
    assert isinstance(group, Group)
    return group


class Interruption:
    """Does something while the first draft is made. ``drafts``: how many were begun."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, change: Callable[[], object]) -> None:
        self._change = change
        self.drafts = 0
        monkeypatch.setattr(upgrades, "draft_steps", self._steps)

    def _steps(self, group: Group, topics: TopicLookup, batch: BegunBatch) -> Generator[None, None, UpgradeDraft]:
        steps = draft_steps(group, topics, batch)
        next(steps)
        self.drafts += 1
        if self.drafts == 1:
            self._change()
        return (yield from steps)


async def test_each_step_reads_one_member_or_makes_one_record() -> None:
    size = 30
    world, _ = await classic_world(size)
    batch = BegunBatch(0, Codec.NONE)
    count = sum(1 for _ in draft_steps(classic_group(world), world.topics, batch))
    records = 3 * size + 2
    assert count == size + records
    (made,) = iter_batches(batch.finish(()))
    assert made.record_count == records + 1, "the batch deletes the classic group and has all records"


async def test_group_stays_classic_until_the_turns_after_the_request() -> None:
    world, clients = await classic_world()
    reply = world.send("c", 0, names=("t",))
    assert classic_group(world).member_count == 2
    assert clients[0].beat() is ErrorCode.NONE
    assert not reply.answers
    world.time.advance(0)
    assert set(world.group.members) == {"c", *(client.member_id for client in clients)}


async def test_client_that_joins_meanwhile_by_the_classic_protocol_is_told_to_try_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, clients = await classic_world()
    clients[0].topics = ("t", "u")
    memory = world.coordinator.registry.memory
    used_bytes = []

    def join() -> None:
        used_bytes.append(memory.used_bytes)
        clients[0].send_join()
        used_bytes.append(memory.used_bytes)

    interruption = Interruption(monkeypatch, join)
    await world.beat("c", 0, names=("t",))
    assert (await clients[0].joined()).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert used_bytes[0] == used_bytes[1]
    clients[0].send_join()
    await clients[0].joined()
    assert world.group.members[clients[0].member_id].metadata.names == ("t", "u")
    assert interruption.drafts == 1


async def test_assignment_that_the_leader_sends_meanwhile_is_in_the_consumer_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, clients = await classic_world(1)
    group = classic_group(world)
    (member,) = group.members.values()
    Interruption(monkeypatch, lambda: group.assign(member, assignment(PARTITIONS[:1])))
    await world.beat("c", 0)
    assert {number for (_, number), owner in world.group.owners.items() if owner == clients[0].member_id} == {0}


async def test_generation_that_begins_meanwhile_comes_before_the_epoch_of_the_consumer_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, _ = await classic_world(1)
    group = classic_group(world)

    def begin_generation() -> None:
        group.generation_id += 5

    Interruption(monkeypatch, begin_generation)
    assert (await world.beat("c", 0)).member_epoch == group.generation_id + 1


async def test_one_failed_conversion_answers_all_consumers_that_join_a_classic_group_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, _ = await classic_world(3)
    group = classic_group(world)
    group.assign(list(group.members.values())[-1], b"\0")  # of a custom assignor
    interruption = Interruption(monkeypatch, lambda: None)
    replies = [world.send(f"c{number}", 0, names=("t",)) for number in range(10)]
    world.time.advance(0)
    await world.coordinator.settled()
    assert {reply.answer.error for reply in replies} == {ErrorCode.GROUP_ID_NOT_FOUND}
    assert interruption.drafts == 1


async def test_member_that_leaves_meanwhile_is_not_in_the_consumer_group(monkeypatch: pytest.MonkeyPatch) -> None:
    world, clients = await classic_world()
    interruption = Interruption(monkeypatch, clients[0].leave)
    answer = await world.beat("c", 0, names=("t",))
    assert answer.error is ErrorCode.NONE
    assert set(world.group.members) == {"c", clients[1].member_id}
    assert interruption.drafts == 2
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    assert stored_state(after.group) == stored_state(world.group)


async def test_client_joins_a_new_consumer_group_when_all_classic_members_leave_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, clients = await classic_world()
    Interruption(monkeypatch, lambda: [client.leave() for client in clients])
    answer = await world.beat("c", 0, names=("t",))
    assert answer.error is ErrorCode.NONE
    assert set(world.group.members) == {"c"}


async def test_two_consumers_that_join_at_once_are_members_of_the_one_consumer_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, clients = await classic_world()
    interruption = Interruption(monkeypatch, lambda: None)
    replies = [world.send(name, 0, names=("t",)) for name in ("c", "d")]
    world.time.advance(0)
    await world.coordinator.settled()
    assert [reply.answer.error for reply in replies] == [ErrorCode.NONE, ErrorCode.NONE]
    assert set(world.group.members) == {"c", "d", *(client.member_id for client in clients)}
    assert interruption.drafts == 1


async def test_each_request_gets_a_group_that_no_other_request_was_decided_on(monkeypatch: pytest.MonkeyPatch) -> None:
    world, _ = await classic_world()
    interruption = Interruption(monkeypatch, lambda: None)
    errors: list[ErrorCode] = []

    def refused(answer: HeartbeatAnswer) -> None:
        errors.append(answer.error)
        world.log.known_refusal = ErrorCode.NONE

    world.log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    world.coordinator.consumers.heartbeat(heartbeat("c", 0, names=("t",)), world.hidden.intersection, refused)
    assert (await world.beat("d", 0, names=("t",))).error is ErrorCode.NONE
    assert errors == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert "c" not in world.group.members
    assert interruption.drafts == 2


async def test_requests_are_refused_when_the_group_moves_to_another_broker_meanwhile() -> None:
    world, clients = await classic_world()
    reply = world.send("c", 0, names=("t",))
    clients[0].send_join()
    world.coordinator.partitions.unload(world.coordinator.partition_for(GROUP), 1)
    world.time.advance(0)
    assert reply.answer.error is ErrorCode.NOT_COORDINATOR
    assert (await clients[0].joined()).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.coordinator.registry.get(GROUP) is None
    assert world.time.armed_count == 0


async def test_group_stays_classic_when_a_step_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world, clients = await classic_world()

    def fail() -> None:
        raise RuntimeError("broken")

    Interruption(monkeypatch, fail)
    assert (await world.beat("c", 0, names=("t",))).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert "broken" in caplog.text
    assert clients[0].beat() is ErrorCode.NONE
    assert (await world.beat("c", 0, names=("t",))).error is ErrorCode.NONE
    assert isinstance(world.coordinator.registry.get(GROUP), ConsumerGroup)
