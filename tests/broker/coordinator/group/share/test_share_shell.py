"""Share groups on a coordinator: states of partitions, sessions, other types of groups, administrators."""

from collections.abc import Mapping
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.joining import JoinRequest
from pybroker.broker.coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.results import OffsetFetchResult
from pybroker.broker.coordinator.group.share.share_offsets import AlteredOffsets, NamedPartition
from pybroker.broker.coordinator.share.ports import StateSummary
from pybroker.protocol.codec import NULL_UUID
from pybroker.protocol.errors import (
    CoordinatorNotAvailableError,
    ErrorCode,
    GroupIdNotFoundError,
    GroupNotEmptyError,
    NotEnoughReplicasError,
)
from support.clients.group_clients import CommitCall, JoinCall, protocols
from support.in_process.consumer_groups import Topics, heartbeat
from support.share_groups.coordinator import ShareGroupWorld
from support.share_groups.decisions import GROUP, SHARE_SETTINGS, share_heartbeat

SESSION_MS = SHARE_SETTINGS.session_timeout_ms
PAUSE_MS = 5_000
T0 = TopicPartition("t", 0)


async def test_new_partitions_get_a_state_in_the_epoch_of_the_group_and_then_a_member() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=40))
    await world.beat("a", 0, "t")
    assert world.states.stored == {world.key("t", partition): (1, -1) for partition in range(40)}
    assert (world.group.states.initializing, len(world.group.states.initialized)) == ({}, 1)
    answer = await world.beat("a", 1)
    assert (answer.member_epoch, answer.assignment) == (2, world.topics.assignment(t=range(40)))
    written = sum(map(len, world.log.store.batches))
    assert (await world.beat("a", 2)).assignment is None
    assert sum(map(len, world.log.store.batches)) == written


async def test_heartbeats_of_a_large_group_are_answered_when_its_target_is_known() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=3_000))
    await world.beat("a", 0, "t")
    answers: list[HeartbeatAnswer] = []
    for member_id, epoch, names in (("a", 1, ()), ("b", 0, ("t",))):
        world.shares.heartbeat(share_heartbeat(member_id, epoch, *names), answers.append)
    await world.coordinator.settled()
    assert not answers, "the target is computed in turns of the event loop"
    await world.settled()
    first, second = answers
    assert (first.member_epoch, first.assignment) == (2, world.topics.assignment(t=range(3_000)))
    assert (second.member_epoch, sum(map(len, (second.assignment or {}).values()))) == (3, 1_500)


async def test_heartbeat_that_waits_for_the_target_of_a_share_group_is_answered_when_the_coordinator_moves() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=3_000))
    await world.beat("a", 0, "t")
    answers: list[HeartbeatAnswer] = []
    world.shares.heartbeat(share_heartbeat("a", 1), answers.append)
    await world.coordinator.settled()
    for partition in range(world.log.partition_count):
        world.coordinator.partitions.unload(partition, 1)
    await world.settled()
    assert [each.error for each in answers] == [ErrorCode.NOT_COORDINATOR]


async def test_partitions_by_which_a_topic_grows_begin_at_offset_0() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    await world.beat("a", 0, "t")
    world.topics.create("t", 3)
    await world.beat("a", 1)
    starts = {number: world.states.stored[world.key("t", number)][1] for number in range(3)}
    assert starts == {0: -1, 1: 0, 2: 0}


async def test_states_that_were_not_created_are_tried_again_after_a_pause() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    world.states.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    await world.beat("a", 0, "t")
    world.states.error = ErrorCode.NONE
    await world.beat("a", 1)
    assert world.states.stored == {}
    world.time.advance(PAUSE_MS)
    await world.beat("a", 1)
    assert len(world.states.stored) == 2


async def test_new_coordinator_goes_on_to_create_states() -> None:
    before = await ShareGroupWorld.loaded(Topics(t=2))
    before.states.error = ErrorCode.NOT_COORDINATOR
    await before.beat("a", 0, "t")
    after = await ShareGroupWorld.loaded(before.topics, log=before.log)
    await after.beat("a", 1)
    assert (await after.beat("a", 1)).assignment == after.topics.assignment(t=range(2))


async def test_member_without_heartbeats_is_removed_after_its_session() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    await world.beat("a", 0, "t")
    await world.beat("b", 0, "t")
    world.time.advance(SESSION_MS - 1)
    await world.beat("a", 1)
    world.time.advance(1)
    assert set(world.group.members) == {"a"}
    world.time.advance(SESSION_MS)
    assert world.group.is_empty


async def test_partition_is_loaded_anew_when_records_are_not_written() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    await world.beat("a", 0, "t")
    world.log.append_error = NotEnoughReplicasError()
    assert (await world.beat("b", 0, "t")).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.append_error = None
    assert len(world.loads) == 1


async def test_change_that_the_log_would_refuse_leaves_the_share_group_in_memory() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    await world.beat("a", 0, "t")
    world.log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert (await world.beat("b", 0, "t")).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.loads == []
    world.log.known_refusal = ErrorCode.NONE
    assert (await world.beat("b", 0, "t")).error is ErrorCode.NONE


async def test_silent_share_member_stays_while_the_log_would_refuse_its_removal() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    await world.beat("a", 0, "t")
    group = world.group
    world.log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    world.time.advance(2 * SESSION_MS)
    assert (world.loads, world.group, set(group.members)) == ([], group, {"a"})
    world.log.known_refusal = ErrorCode.NONE
    world.time.advance(PAUSE_MS)
    assert group.is_empty


async def test_states_that_the_log_would_refuse_to_note_are_noted_after_a_pause() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    with patch.object(world.states, "initialize") as initialize:
        await world.beat("a", 0, "t")
    world.log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    initialize.call_args.args[-1](ErrorCode.NONE)
    await world.settled()
    assert (world.loads, world.group.states.initialized) == ([], {})
    world.log.known_refusal = ErrorCode.NONE
    world.time.advance(PAUSE_MS)
    await world.beat("a", 1)
    assert set(world.group.states.initialized) == {world.topics.topic_id("t")}


async def test_states_of_a_deleted_topic_are_forgotten() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2, u=1))
    await world.beat("a", 0, "t", "u")
    await world.beat("a", 1)
    world.topics.delete("t")
    world.shares.topics_changed(["t"])
    assert {topic.name for topic in world.group.states.initialized.values()} == {"u"}
    assert (await world.beat("a", 2)).assignment == world.topics.assignment(u=[0])


async def test_states_of_a_deleted_topic_of_a_share_group_without_members_are_forgotten() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2, u=1))
    await world.beat("a", 0, "t", "u")
    await world.beat("a", -1)
    world.topics.delete("t")
    world.shares.topics_changed(["t"])
    await world.settled()
    after = await ShareGroupWorld.loaded(world.topics, log=world.log)
    assert {topic.name for topic in after.group.states.initialized.values()} == {"u"}


# -- other types of groups


def committed(world: ShareGroupWorld) -> ErrorCode | None:
    """The error code of an offset that a client without a group's members commits; None: it is being written."""
    call = CommitCall()
    request = CommitRequest(GROUP, {T0: OffsetAndMetadata(1, -1, "", world.time.now_ms())})
    world.coordinator.commits.commit(request, call)
    return call.error if call.is_answered else None


async def test_requests_of_other_types_do_not_find_a_share_group_even_an_empty_one() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    await world.beat("a", 0, "t")
    await world.beat("a", -1)
    groups = world.coordinator
    joining = JoinCall()
    groups.membership.join(
        JoinRequest(GROUP, "", None, "c", "h", 60_000, SESSION_MS, "consumer", protocols("range")), joining
    )
    assert joining.result.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    answers: list[ErrorCode] = []
    groups.consumers.heartbeat(heartbeat("c", 0), lambda topics: frozenset(), lambda told: answers.append(told.error))
    assert answers == [ErrorCode.GROUP_ID_NOT_FOUND]
    assert committed(world) is ErrorCode.GROUP_ID_NOT_FOUND
    assert groups.commits.fetch(GROUP, [T0], require_stable=False) == (
        ErrorCode.NONE,
        {T0: OffsetFetchResult(-1, -1, "", ErrorCode.NONE)},
    )
    assert groups.administration.describe(GROUP).state == "Dead"


async def test_share_member_does_not_join_a_classic_group() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    committed(world)
    assert (await world.beat("a", 0, "t")).error is ErrorCode.GROUP_ID_NOT_FOUND
    with pytest.raises(GroupIdNotFoundError):
        world.shares.describe(GROUP)


async def test_share_group_is_listed_with_its_type_and_never_expires() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    await world.beat("a", 0, "t")
    await world.beat("a", -1)
    world.coordinator.administration.expire()
    _, (listing,) = world.coordinator.administration.list_groups(types=["Share"])
    assert listing == (GROUP, "share", "Empty", "share")


# -- administrators


async def deleted_offsets(world: ShareGroupWorld, *topics: str) -> Mapping[str, tuple[UUID, ErrorCode]]:
    found: list[Mapping[str, tuple[UUID, ErrorCode]]] = []
    world.offsets.delete(GROUP, topics, found.append)
    await world.settled()
    (answer,) = found
    return answer


class CountedTopics(Topics):
    """``lookups``: the topics whose number of partitions was asked for."""

    def __init__(self, **counts: int) -> None:
        super().__init__(**counts)
        self.lookups: list[str] = []

    def partition_count(self, name: str) -> int:
        self.lookups.append(name)
        return super().partition_count(name)


async def altered(world: ShareGroupWorld, **offsets: Mapping[int, int]) -> Mapping[tuple[str, int], ErrorCode]:
    found: list[AlteredOffsets] = []
    world.offsets.alter(GROUP, offsets, found.append)
    await world.settled()
    (answer,) = found
    return {(name, each): code for name, (_, codes) in answer.items() for each, code in codes.items()}


async def states_deleted(world: ShareGroupWorld) -> ErrorCode:
    found: list[ErrorCode] = []
    world.offsets.delete_states(GROUP, found.append)
    await world.settled()
    (code,) = found
    return code


async def test_states_are_deleted_before_their_group_and_stay_known_until_they_are() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    await world.beat("a", 0, "t")
    with pytest.raises(GroupNotEmptyError):
        world.offsets.delete_states(GROUP, lambda code: None)
    await world.beat("a", -1)
    world.states.error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await states_deleted(world) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.offsets.has_states(GROUP)
    world.states.error = ErrorCode.NONE
    assert await states_deleted(world) is ErrorCode.NONE
    assert world.states.stored == {}
    assert world.coordinator.administration.delete_group(GROUP) is ErrorCode.NONE
    await world.settled()
    after = await ShareGroupWorld.loaded(world.topics, log=world.log)
    assert after.coordinator.registry.get(GROUP) is None


async def test_start_offsets_of_a_new_group_are_set() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    codes = await altered(world, t={1: 7, 9: 0}, unknown={0: 3})
    assert codes == {
        ("t", 1): ErrorCode.NONE,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("unknown", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert world.states.stored == {world.key("t", 1): (0, 7)}
    await world.beat("a", 0, "t")
    assert world.states.stored[world.key("t", 1)] == (0, 7)
    assert (await world.beat("a", 1)).assignment == world.topics.assignment(t=range(2))
    with pytest.raises(GroupNotEmptyError):
        world.offsets.alter(GROUP, {"t": {0: 1}}, lambda codes: None)


async def test_topic_is_looked_up_once_for_all_of_its_partitions_whose_offsets_are_set() -> None:
    topics = CountedTopics()
    codes = await altered(await ShareGroupWorld.loaded(topics), unknown=dict.fromkeys(range(1_000), 0))
    assert codes == {("unknown", number): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for number in range(1_000)}
    assert topics.lookups == ["unknown"]


async def test_altered_offsets_are_confirmed_once_the_record_of_their_states_is_written() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    initialize = world.states.initialize

    def initialize_before_a_fault(*arguments: Any) -> None:
        world.log.append_error = NotEnoughReplicasError()
        initialize(*arguments)

    with patch.object(world.states, "initialize", initialize_before_a_fault):
        codes = await altered(world, t={0: 7, 9: 1})
    assert codes == {
        ("t", 0): ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ("t", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


async def test_offsets_are_not_altered_while_states_are_created() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=100))
    answers: list[HeartbeatAnswer] = []
    world.shares.heartbeat(share_heartbeat("a", 0, "t"), answers.append)
    await world.coordinator.settled()
    world.shares.heartbeat(share_heartbeat("a", -1), answers.append)
    await world.coordinator.settled()
    with pytest.raises(CoordinatorNotAvailableError):
        world.offsets.alter(GROUP, {"t": {0: 1}}, lambda codes: None)


async def test_offsets_of_a_topic_are_deleted_once() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2, u=1))
    await world.beat("a", 0, "t", "u")
    await world.beat("a", -1)
    topic_id = world.topics.topic_id("t")
    assert await deleted_offsets(world, "t") == {"t": (topic_id, ErrorCode.NONE)}
    assert set(world.states.stored) == {world.key("u", 0)}
    assert await deleted_offsets(world, "t", "no") == {
        "t": (NULL_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        "no": (NULL_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    }


async def test_deletion_of_offsets_that_failed_can_be_repeated() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    await world.beat("a", 0, "t")
    await world.beat("a", -1)
    topic_id = world.topics.topic_id("t")
    world.states.error = ErrorCode.REQUEST_TIMED_OUT
    assert await deleted_offsets(world, "t") == {"t": (topic_id, ErrorCode.REQUEST_TIMED_OUT)}
    world.states.error = ErrorCode.NONE
    assert await deleted_offsets(world, "t") == {"t": (topic_id, ErrorCode.NONE)}
    assert world.states.stored == {}


@pytest.mark.parametrize("asked", [None, {"t": [0, 1], "no": [5]}])
async def test_start_offsets_are_described(asked: Mapping[str, list[int]] | None) -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    await altered(world, t={1: 7})
    found: list[Mapping[NamedPartition, StateSummary | ErrorCode]] = []
    world.offsets.describe(GROUP, asked, 30.0, found.append)
    await world.settled()
    topic_id = world.topics.topic_id("t")
    first, second = NamedPartition("t", topic_id, 0), NamedPartition("t", topic_id, 1)
    expected: dict[NamedPartition, StateSummary | ErrorCode] = {second: StateSummary(0, 0, 7, -1)}
    if asked is not None:
        expected[first] = StateSummary(0, 0, -1, -1)
        expected[NamedPartition("no", NULL_UUID, 5)] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert found == [expected]


async def test_share_coordinator_is_asked_only_about_partitions_that_exist() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1))
    await altered(world, t={0: 7})
    found: list[Mapping[NamedPartition, StateSummary | ErrorCode]] = []
    world.offsets.describe(GROUP, {"t": [0, 1, 0, -1]}, 30.0, found.append)  # one of them twice
    await world.settled()
    (described,) = found
    codes = {each.partition: summary for each, summary in described.items() if isinstance(summary, ErrorCode)}
    assert codes == dict.fromkeys((1, -1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


async def test_start_offsets_are_described_without_states_that_nobody_tells() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=20))
    await altered(world, t={0: 7})
    found: list[Mapping[NamedPartition, StateSummary | ErrorCode]] = []
    with patch.object(world.states, "read_summary") as asked:
        world.offsets.describe(GROUP, {"t": range(20)}, 30.0, found.append)
        await world.settled()
        assert not found
        world.time.advance(30_000)
        await world.settled()
    assert [set(described.values()) for described in found] == [{ErrorCode.COORDINATOR_NOT_AVAILABLE}]
    assert asked.call_count < 20


async def test_new_coordinator_forgets_states_of_topics_that_went_while_nobody_coordinated() -> None:
    topics = Topics(t=2, u=1)
    before = await ShareGroupWorld.loaded(topics)
    await before.beat("a", 0, "t", "u")
    gone = topics.topic_id("u")
    topics.delete("u")
    after = await ShareGroupWorld.loaded(topics, log=before.log)
    after.shares.topics_changed([])
    await after.beat("a", 1)
    assert gone in after.group.states.initialized, "its metadata may not have come yet"
    after.shares.topics_changed(["other"])
    await after.beat("a", after.group.members["a"].current.epoch)
    assert after.group.states.initialized.keys() == {topics.topic_id("t")}
