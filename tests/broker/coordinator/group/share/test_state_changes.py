"""Changes of the states of a share group, while their records are not committed yet: one at a time."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from pybroker.broker.coordinator.group.share.share_offsets import AlteredOffsets
from pybroker.broker.coordinator.share.ports import SharePartitionKey
from pybroker.protocol.errors import CoordinatorNotAvailableError, ErrorCode, NotEnoughReplicasError
from support.in_process.consumer_groups import Topics
from support.share_groups.coordinator import ShareGroupWorld
from support.share_groups.decisions import GROUP, share_heartbeat


class Changes:
    """Requests of administrators. ``answers``: the code of each answered request, in order."""

    def __init__(self, world: ShareGroupWorld) -> None:
        self.world = world
        self.answers: list[ErrorCode] = []

    def alter(self, offset: int = 7) -> None:
        """Alter the start offset of partition 0 of topic t."""

        def altered(topics: AlteredOffsets) -> None:
            self.answers += (code for _, codes in topics.values() for code in codes.values())

        self.world.offsets.alter(GROUP, {"t": {0: offset}}, altered)

    def delete(self) -> None:
        """Delete the offsets of topic t."""
        self.world.offsets.delete(GROUP, ["t"], lambda topics: self.answers.extend(code for _, code in topics.values()))

    def delete_states(self) -> None:
        self.world.offsets.delete_states(GROUP, self.answers.append)

    async def move(self) -> None:
        """The coordinator moves, and comes back."""
        for partition in range(self.world.log.partition_count):
            self.world.coordinator.partitions.unload(partition, 1)
        for partition in range(self.world.log.partition_count):
            await self.world.coordinator.partitions.load(partition, 2)


CHANGES = [Changes.alter, Changes.delete, Changes.delete_states]
Change = Callable[[Changes], None]


async def empty_group() -> ShareGroupWorld:
    """A group without members that has a state for both partitions of topic t."""
    world = await ShareGroupWorld.loaded(Topics(t=2))
    await world.beat("a", 0, "t")
    await world.beat("a", -1)
    return world


@contextmanager
def kept_call(world: ShareGroupWorld) -> Iterator[list[Callable[[ErrorCode], None]]]:
    """The share coordinator does not answer deletions: their callbacks are kept."""
    kept: list[Callable[[ErrorCode], None]] = []

    def keep(key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        kept.append(done)

    with patch.object(world.states, "delete", keep):
        yield kept


async def join(world: ShareGroupWorld) -> None:
    """A member joins; the record of that is not awaited."""
    world.shares.heartbeat(share_heartbeat("b", 0, "t"), lambda answer: None)
    world.time.advance(0)


@pytest.mark.parametrize("second", CHANGES)
@pytest.mark.parametrize("first", CHANGES)
async def test_second_change_of_states_is_refused_until_the_first_is_over(first: Change, second: Change) -> None:
    changes = Changes(world := await empty_group())
    world.log.replicas.clear()
    first(changes)
    with pytest.raises(CoordinatorNotAvailableError):
        second(changes)
    world.log.replicas.set()
    await world.settled()
    assert changes.answers == [ErrorCode.NONE]
    second(changes)
    await world.settled()
    assert len(changes.answers) == 2


async def test_altered_offset_stays_when_a_member_joins_before_the_record_is_committed() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    changes = Changes(world)
    world.log.replicas.clear()
    with patch.object(world.states, "initialize", wraps=world.states.initialize) as initialize:
        changes.alter(7)
        await join(world)
        world.log.replicas.set()
        await world.settled()
    assert changes.answers == [ErrorCode.NONE]
    assert [call.args[2] for call in initialize.call_args_list] == [7]
    assert (await world.beat("b", 1)).assignment == world.topics.assignment(t=[0])


@pytest.mark.parametrize("delete", [Changes.delete, Changes.delete_states])
async def test_partition_has_the_state_that_its_record_tells_when_a_member_joins_during_a_deletion(
    delete: Change,
) -> None:
    changes = Changes(world := await empty_group())
    world.log.replicas.clear()
    delete(changes)
    await join(world)
    with kept_call(world) as kept:
        world.log.replicas.set()
        await world.settled()
        await world.beat("b", world.group.epoch)
        assert not world.group.states.initialized, "states are being deleted"
    for key, done in zip(list(world.states.stored), kept, strict=True):
        world.states.delete(key, done)
    await world.settled()
    assert changes.answers == [ErrorCode.NONE]
    await world.beat("b", world.group.epoch)
    topic_id = world.topics.topic_id("t")
    assert world.group.states.initialized[topic_id].partitions == {0, 1}
    assert set(world.states.stored) == {world.key("t", 0), world.key("t", 1)}


@pytest.mark.parametrize("change", CHANGES)
async def test_states_can_be_changed_again_after_the_record_was_not_written(change: Change) -> None:
    changes = Changes(world := await empty_group())
    world.log.append_error = NotEnoughReplicasError()
    change(changes)
    await world.settled()
    world.log.append_error = None
    await changes.move()
    change(changes)
    await world.settled()
    assert changes.answers == [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NONE]


@pytest.mark.parametrize("change", CHANGES)
async def test_change_of_states_that_the_log_would_refuse_leaves_the_share_group_in_memory(change: Change) -> None:
    changes = Changes(world := await empty_group())
    states = world.group.states
    world.log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    with pytest.raises(CoordinatorNotAvailableError):
        change(changes)
    assert (world.loads, world.group.states) == ([], states)
    world.log.known_refusal = ErrorCode.NONE
    change(changes)
    await world.settled()
    assert changes.answers == [ErrorCode.NONE]


@pytest.mark.parametrize("change", CHANGES)
async def test_states_can_be_changed_again_after_a_record_that_was_too_large(change: Change) -> None:
    changes = Changes(world := await empty_group())
    limit, world.log.max_message_bytes = world.log.max_message_bytes, 1
    change(changes)
    world.log.max_message_bytes = limit
    change(changes)
    await world.settled()
    assert changes.answers == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NONE]


@pytest.mark.parametrize("change", CHANGES)
async def test_change_whose_coordinator_moved_leaves_a_later_change_alone(change: Change) -> None:
    changes = Changes(world := await empty_group())
    world.log.replicas.clear()
    change(changes)
    await changes.move()
    change(changes)
    world.log.replicas.set()
    await world.settled()
    assert changes.answers == [ErrorCode.NOT_COORDINATOR, ErrorCode.NONE]


@pytest.mark.parametrize("delete", [Changes.delete, Changes.delete_states])
async def test_deletion_of_states_is_answered_when_the_coordinator_moves(delete: Change) -> None:
    changes = Changes(world := await empty_group())
    with kept_call(world) as kept:
        delete(changes)
        await world.settled()
        await changes.move()
    assert changes.answers == [ErrorCode.NOT_COORDINATOR]
    for done in kept:
        done(ErrorCode.NONE)
    await world.settled()
    assert len(changes.answers) == 1
