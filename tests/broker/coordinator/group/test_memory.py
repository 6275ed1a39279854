"""The memory that groups use, counted from the texts and metadata that clients send."""

from dataclasses import replace
from sys import getsizeof

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata, value_bytes
from pybroker.broker.coordinator.group.records import decode_group, encode_group
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.broker.coordinator.group.subscriptions import subscribed_topics
from pybroker.controller.topics.settings_limit import settings_bytes
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import NO_DELAY, GroupWorld, protocols, subscription

WIDE = ["\N{GRINNING FACE}" + "a" * 30_000, "\N{CYRILLIC SMALL LETTER YA}" * 30_000, "a" * 30_000]


def test_an_assignment_counts_as_memory_until_its_member_leaves() -> None:
    world = GroupWorld()
    (leader,) = world.stable_group("a")
    before = world.group().size_bytes
    generation_id = world.join(leader).result.generation_id
    assert world.sync(leader, generation_id, {leader: bytes(100_000)}).result.error is ErrorCode.NONE
    assert world.group().size_bytes > before + 99_000
    assert world.parts.registry.memory.used_bytes == world.group().size_bytes
    world.leave(LeavingMember(leader, None, None))
    assert world.group().size_bytes < before


def test_an_assignment_read_from_the_log_counts_as_memory() -> None:
    world = GroupWorld()
    (leader,) = world.stable_group("a")
    empty, full = (
        decode_group("g", encode_group(world.group(), {leader: assignment})) for assignment in (b"", bytes(100_000))
    )
    assert full.size_bytes == empty.size_bytes + 100_000


def test_an_assignment_past_the_memory_limit_is_refused_and_the_group_rebalances() -> None:
    world = GroupWorld(replace(NO_DELAY, max_bytes=50_000))
    (leader,) = world.stable_group("a")
    generation_id = world.join(leader).result.generation_id
    used = world.parts.registry.memory.used_bytes
    refused = world.sync(leader, generation_id, {leader: bytes(50_000)})
    assert refused.result.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.group().state is GroupState.PREPARING_REBALANCE
    assert world.parts.registry.memory.used_bytes <= used
    again = world.join(leader).result.generation_id
    assert world.sync(leader, again, {leader: bytes(10_000)}).result.assignment == bytes(10_000)


@pytest.mark.parametrize("text", WIDE, ids=["widest", "wide", "narrow"])
def test_texts_count_by_the_width_of_their_characters_in_memory(text: str) -> None:
    kept = getsizeof(text) - 100  # without the size of the object itself, which is counted elsewhere
    world = GroupWorld()
    name = protocols(text, metadata=b"m")
    joined = world.join(group_id=text, instance_id=text, client_id=text, protocol_type=text, protocols_=name)
    assert joined.result.error is ErrorCode.NONE
    assert Group(text, 0).size_bytes >= kept
    assert world.group(text).size_bytes >= 6 * kept  # the group stores the type too
    assert value_bytes(OffsetAndMetadata(1, -1, text, 0)) >= kept
    assert settings_bytes({text: text}) >= 2 * kept


def test_an_empty_group_still_counts_its_protocol_type() -> None:
    world = GroupWorld()
    member_id = world.join(protocol_type="t" * 30_000, version=3).result.member_id
    world.leave(LeavingMember(member_id, None, None))
    assert not world.group().members
    assert world.group().size_bytes > 30_000
    assert decode_group("g", encode_group(world.group(), {})).size_bytes == world.group().size_bytes


def test_subscribed_topics_count_in_addition_to_the_metadata() -> None:
    metadata = subscription(*(str(number) for number in range(1000)))
    world = GroupWorld()
    consumers = world.join(group_id="consumers", protocols_=protocols("range", metadata=metadata), version=3)
    others = world.join(
        group_id="others", protocol_type="connect", protocols_=protocols("range", metadata=metadata), version=3
    )
    sizes = [world.group(name).size_bytes for name in ("consumers", "others")]
    assert sizes[0] > sizes[1] + 1000 * getsizeof("999")
    world.leave(LeavingMember(consumers.result.member_id, None, None), group_id="consumers")
    world.leave(LeavingMember(others.result.member_id, None, None), group_id="others")
    assert abs(world.group("consumers").size_bytes - world.group("others").size_bytes) < 100


def test_a_subscription_with_too_many_topics_is_not_kept() -> None:
    names = [str(number) for number in range(100_001)]
    assert subscribed_topics([subscription(*names)]) is None
    assert subscribed_topics([subscription(*names[:60_000]), subscription(*names[60_000:])]) is None
    assert len(subscribed_topics([subscription(*names[1:])] * 2) or ()) == 100_000


def test_subscriptions_with_too_many_mentions_of_topics_are_not_read() -> None:
    many = [f"t{number}" for number in range(1000)]
    own = [subscription(*many, f"own-{member}") for member in range(200)]
    assert subscribed_topics(own) is None
    assert len(subscribed_topics(own[:199]) or ()) == 1199
    assert subscribed_topics([subscription(*many)] * 1000) == frozenset(many)
    assert subscribed_topics([subscription(*[""] * 200_001)]) is None


def test_a_commit_creates_no_group_past_the_memory_limit() -> None:
    for producer_id in (None, 5):
        world = GroupWorld(replace(NO_DELAY, max_bytes=20_000))
        offsets = {TopicPartition("t", 0): 1}
        codes = [
            world.commit(offsets, group_id=f"group {number}", producer_id=producer_id).error for number in range(10)
        ]
        assert codes[0] is ErrorCode.NONE
        assert codes[-1] is ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert world.parts.registry.memory.used_bytes <= 20_000
        # Existing groups still accept commits.
        assert world.commit(offsets, group_id="group 0", producer_id=producer_id).error is ErrorCode.NONE
