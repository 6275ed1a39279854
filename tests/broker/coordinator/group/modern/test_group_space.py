"""The memory of targets and of topics that match patterns is bounded: a group over it stays as it is."""

from pybroker.broker.coordinator.group.modern.assignment import assignment_of, pairs
from pybroker.protocol.errors import ErrorCode
from support.in_process.consumer_groups import CoordinatedGroup, Topics
from support.in_process.consumer_world import ConsumerWorld
from support.share_groups.coordinator import ShareGroupWorld

_MORE = 10_000
"""More than a member takes without its partitions, in bytes."""


async def test_consumer_whose_target_does_not_fit_is_refused_and_the_others_keep_their_partitions() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3, large=800))
    first = (await world.beat("a", 0, names=("t",))).assignment
    memory = world.coordinator.registry.memory
    before_bytes, memory.max_bytes = memory.used_bytes, memory.used_bytes + _MORE
    assert (await world.beat("b", 0, names=("large",))).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert memory.used_bytes <= before_bytes + _MORE
    other = await world.beat("a", 1)
    assert (other.error, other.assignment) == (ErrorCode.NONE, None)
    assert world.group.members["a"].current.assigned == first
    memory.max_bytes = 1 << 28
    assert (await world.beat("b", 0, names=("large",))).assignment == world.topics.assignment(large=range(800))


async def test_group_whose_target_did_not_fit_gets_it_a_minute_later() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    memory = world.coordinator.registry.memory
    memory.max_bytes = memory.used_bytes
    world.topics.create("t", 2_000)
    world.coordinator.consumers.topics_changed(["t"])
    answer = await world.beat("a", 1)
    assert (answer.error, answer.assignment) == (ErrorCode.NONE, None)
    memory.max_bytes = 1 << 28
    assert (await world.beat("a", 1)).assignment is None
    for _ in range(2):
        world.time.advance(30_000)
        answer = await world.beat("a", 1)
    assert answer.assignment == world.topics.assignment(t=range(2_000))


async def test_topics_of_a_pattern_that_do_not_fit_are_not_stored() -> None:
    world = await ConsumerWorld.loaded(Topics(**{f"t{number}": 1 for number in range(200)}))
    await world.beat("a", 0, names=("t0",))
    memory = world.coordinator.registry.memory
    before_bytes, memory.max_bytes = memory.used_bytes, memory.used_bytes + _MORE
    assert (await world.beat("b", 0, pattern="t.*")).error is ErrorCode.NONE
    world.time.advance(0)
    await world.coordinator.settled()
    assert not world.group.patterns
    assert memory.used_bytes <= before_bytes + _MORE


async def test_share_member_whose_target_does_not_fit_is_refused() -> None:
    world = await ShareGroupWorld.loaded(Topics(large=800))
    await world.beat("a", 0, "large")
    await world.beat("a", -1)
    memory = world.coordinator.registry.memory
    memory.max_bytes = memory.used_bytes + _MORE
    assert (await world.beat("a", 0, "large")).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    memory.max_bytes = 1 << 28
    assert (await world.beat("a", 0, "large")).error is ErrorCode.NONE


async def test_consumers_take_no_more_memory_when_they_reach_a_target_that_was_computed_for_all() -> None:
    world = await ConsumerWorld.loaded(Topics(t=2))
    await world.beat("a", 0, names=("t",))
    await world.beat("b", 0, names=("t",))
    assert world.group.target_epoch == 2
    world.topics.create("t", 4_000)
    world.coordinator.consumers.topics_changed(["t"])
    await world.beat("a", 1)
    memory = world.coordinator.registry.memory
    before_bytes = memory.used_bytes
    await world.beat("b", 2)
    assert len(world.group.owners) > 2_000
    assert memory.used_bytes == before_bytes


async def test_share_members_take_no_more_memory_when_they_reach_a_target_that_was_computed_for_all() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=3_000))
    await world.beat("a", 0, "t")
    await world.beat("b", 0, "t")
    memory = world.coordinator.registry.memory
    assert world.group.members["a"].current.assigned != world.group.targets["a"]
    before_bytes = memory.used_bytes
    await world.beat("a", 1)
    assert world.group.members["a"].current.assigned == world.group.targets["a"]
    assert memory.used_bytes == before_bytes


def test_member_that_gives_partitions_back_takes_no_more_memory() -> None:
    group = CoordinatedGroup(Topics(t=8, u=2))
    owned = group.beat("a", 0, names=("t", "u")).assignment
    group.beat("b", 0, names=("t",))
    before_bytes = group.group.size_bytes
    group.beat("a", 1, owned=owned)
    assert group.group.members["a"].current.revoking, "it has to give some partitions of a topic back"
    assert group.group.size_bytes == before_bytes
    kept = assignment_of(pairs(group.group.members["a"].current.assigned))
    group.beat("a", 1, owned=kept)
    assert group.group.size_bytes < before_bytes
    smaller_bytes = group.group.size_bytes
    group.beat("b", 2)
    assert len(group.group.owners) == 10
    assert group.group.size_bytes == smaller_bytes
