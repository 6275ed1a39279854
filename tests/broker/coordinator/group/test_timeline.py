"""The timeline of a group: which events it has, whom a rebalance waited for, and how much memory it takes."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.entry_memory import EntryMemory
from pybroker.broker.coordinator.group.history_memory import HistoryMemory
from pybroker.broker.coordinator.group.member import Member
from pybroker.broker.coordinator.group.rebalance_cause import RebalanceCause, RebalanceReason
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.timeline import (
    MAX_EVENTS,
    EventKind,
    EventOutcome,
    GroupEvent,
    GroupTimeline,
    RebalanceCourse,
)
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import NO_DELAY, REBALANCE_MS, SESSION_MS, GroupWorld

P0 = TopicPartition("orders", 0)


def events(world: GroupWorld) -> list[GroupEvent]:
    return world.group().timeline.events()


def last_event(world: GroupWorld) -> GroupEvent:
    return events(world)[-1]


def course(event: GroupEvent) -> RebalanceCourse:
    assert event.course is not None
    return event.course


def waited(event: GroupEvent) -> tuple[str, int]:
    """The member that the rebalance waited for longest, and for how many milliseconds."""
    member = course(event).waited_for
    assert member is not None
    return member.member_id, course(event).waited_ms


def rejoin_and_sync(world: GroupWorld, *member_ids: str) -> None:
    """All members join again and get their assignment; the first of them leads."""
    calls = [world.join(member_id) for member_id in member_ids]
    for member_id in member_ids:
        world.sync(member_id, calls[-1].result.generation_id, {})


def test_first_rebalance_names_the_new_member_and_ends_stable() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    (event,) = events(world)
    assert (event.kind, course(event).reason) == (EventKind.REBALANCE, RebalanceReason.MEMBER_JOINED)
    assert (event.generation, course(event).outcome, course(event).members) == (0, EventOutcome.STABLE, 1)
    assert event.member is not None
    assert (event.member.member_id, event.member.client_id, event.member.host) == (member_id, "a", "/127.0.0.1")


def test_rebalance_waits_longest_for_the_member_that_joins_last() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    world.join(client_id="new", version=3)
    world.time.advance(200)
    world.join(leader)
    world.time.advance(1_500)
    running = last_event(world)
    assert (course(running).outcome, course(running).duration_ms) == (None, None)
    assert waited(running) == (leader, 200)
    generation_id = world.join(follower).result.generation_id
    world.time.advance(30)
    world.sync(leader, generation_id, {})

    event = last_event(world)

    assert (course(event).duration_ms, course(event).outcome, course(event).members) == (1_730, EventOutcome.STABLE, 3)
    assert waited(event) == (follower, 1_700)
    assert event.member is not None
    assert event.member.client_id == "new"


def test_rebalance_waits_longest_for_a_leader_that_computes_the_assignment_slowly() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    world.join(leader)
    world.time.advance(100)
    generation_id = world.join(follower).result.generation_id
    world.sync(follower, generation_id)
    world.time.advance(9_000)
    world.sync(leader, generation_id, {})

    event = last_event(world)

    assert course(event).reason is RebalanceReason.MEMBER_REJOINED
    assert waited(event) == (leader, 9_000)


def test_expired_session_is_the_cause_and_the_absent_member_is_waited_for() -> None:
    world = GroupWorld()
    leader, _ = world.stable_group("a", "b")
    world.time.advance(SESSION_MS - 1)
    world.heartbeat(leader, world.group().generation_id)
    world.time.advance(1)

    running = last_event(world)

    assert course(running).reason is RebalanceReason.SESSION_EXPIRED
    assert running.member is not None
    assert running.member.client_id == "b"
    rejoin_and_sync(world, leader)
    assert course(last_event(world)).outcome is EventOutcome.STABLE
    assert world.parts.rebalances.counts[RebalanceReason.SESSION_EXPIRED] == 1


def test_member_that_leaves_is_the_cause_and_an_empty_group_ends_the_rebalance() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.leave(LeavingMember(member_id, None, "shutting down"))
    event = last_event(world)
    assert (course(event).reason, course(event).outcome, course(event).members) == (
        RebalanceReason.MEMBER_LEFT,
        EventOutcome.EMPTY,
        0,
    )
    assert "shutting down" in event.text


def test_member_that_joins_before_the_assignment_interrupts_the_rebalance() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    world.join(leader)
    world.join(follower)
    world.time.advance(40)
    world.join(client_id="third", version=3)

    interrupted, running = events(world)[-2:]

    assert (course(interrupted).outcome, course(interrupted).duration_ms, course(interrupted).members) == (
        EventOutcome.INTERRUPTED,
        40,
        None,
    )
    assert (course(running).reason, course(running).outcome) == (RebalanceReason.MEMBER_JOINED, None)


def test_member_without_a_syncgroup_in_time_is_the_cause_and_was_waited_for() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    world.join(leader)
    generation_id = world.join(follower).result.generation_id
    for _ in range(REBALANCE_MS // 5_000):
        for member_id in (leader, follower):
            world.heartbeat(member_id, generation_id)
        world.sync(follower, generation_id)
        world.time.advance(5_000)

    interrupted, running = events(world)[-2:]

    assert course(interrupted).outcome is EventOutcome.INTERRUPTED
    assert waited(interrupted) == (leader, REBALANCE_MS)
    assert course(running).reason is RebalanceReason.SYNC_TIMED_OUT
    assert running.member is not None
    assert running.member.member_id == leader


def test_static_member_that_returns_is_noted_without_a_rebalance() -> None:
    world = GroupWorld()
    member_id = world.join(instance_id="lead").result.member_id
    world.sync(member_id, 1, {})
    new_id = world.join(instance_id="lead").result.member_id

    event = last_event(world)

    assert event.kind is EventKind.MEMBER_REPLACED
    assert event.member is not None
    assert (event.member.member_id, event.member.instance_id) == (new_id, "lead")
    assert sum(world.group().timeline.rebalances.values()) == 1


def test_offsets_set_by_a_client_that_is_no_member_are_one_event_with_their_number() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    assert world.commit({P0: 7}, member_id=member_id, generation_id=1).error is ErrorCode.NONE
    world.leave(LeavingMember(member_id, None, None))
    before = len(events(world))
    for offset in (1, 2, 3):
        world.commit({P0: offset})
    assert len(events(world)) == before + 1
    event = last_event(world)
    assert (event.kind, event.times) == (EventKind.OFFSETS_SET, 3)
    assert "orders-0 to 3" in event.text


def test_commits_of_members_and_of_clients_without_a_group_are_no_events() -> None:
    world = GroupWorld()
    world.commit({P0: 1})
    assert not events(world)
    (member_id,) = world.stable_group("a")
    before = events(world)
    world.commit({P0: 2}, member_id=member_id, generation_id=1)
    assert events(world) == before


def test_deleted_offsets_are_an_event() -> None:
    world = GroupWorld()
    world.commit({P0: 1, TopicPartition("other", 0): 1})
    world.parts.administration.delete_offsets("g", [P0])
    assert last_event(world).kind is EventKind.OFFSETS_DELETED
    world.commit({P0: 1})
    world.parts.administration.forget_partitions([P0])
    assert (last_event(world).kind, last_event(world).times) == (EventKind.OFFSETS_DELETED, 2)


def test_deleting_offsets_that_are_not_there_is_no_event() -> None:
    world = GroupWorld()
    world.commit({P0: 1})
    world.parts.administration.delete_offsets("g", [TopicPartition("other", 0)])
    assert not events(world)


def test_timeline_keeps_the_last_events() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    for _ in range(MAX_EVENTS + 10):
        rejoin_and_sync(world, member_id)
    assert len(events(world)) == MAX_EVENTS
    assert last_event(world).generation == MAX_EVENTS + 10
    assert sum(world.group().timeline.rebalances.values()) == MAX_EVENTS + 11


def test_timeline_makes_room_for_members() -> None:
    world = GroupWorld(replace(NO_DELAY, max_bytes=100_000))
    (member_id,) = world.stable_group("a")
    for _ in range(MAX_EVENTS):
        rejoin_and_sync(world, member_id)
    registry = world.parts.registry
    assert 20_000 < registry.histories.used_bytes <= 25_000
    accepted = [world.join(group_id=f"group {number}", version=3).result.error for number in range(40)]
    assert accepted.count(ErrorCode.NONE) > 15
    assert accepted[-1] is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert registry.histories.used_bytes == 0  # members got all of it


def test_removed_group_gives_back_the_memory_of_its_timeline() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.leave(LeavingMember(member_id, None, None))
    assert world.parts.registry.get("g") is None or world.parts.registry.histories.used_bytes > 0
    world.parts.administration.delete_group("g")
    assert world.parts.registry.histories.used_bytes == 0


@given(st.lists(st.sampled_from(["began", "joined", "ended", "note", "clear"]), max_size=200), st.integers(0, 60_000))
def test_memory_of_a_timeline_is_that_of_its_events(steps: list[str], max_bytes: int) -> None:
    memory = HistoryMemory(EntryMemory(max_bytes))
    timeline = GroupTimeline()
    timeline.memory = memory
    member = Member("m" * 10_000, None, "c", "/h", 1, 1, "consumer", ())
    for second, step in enumerate(steps):
        match step:
            case "began":
                cause = RebalanceCause(RebalanceReason.MEMBER_LEFT, "x" * second, member)
                timeline.rebalance_began(cause, second, second * 1000, second)
            case "joined":
                timeline.waited_for(member, second)
            case "ended":
                timeline.rebalance_ended(EventOutcome.STABLE, 1, second)
            case "note":
                timeline.note(EventKind.LOADED, "loaded", second, second * 1000)
            case _:
                timeline.clear()
        assert len(timeline.events()) <= MAX_EVENTS + 1
        assert all(event.times == 1 or event.course is None for event in timeline.events())
        assert 0 <= memory.used_bytes <= max_bytes / 4
    timeline.clear()
    assert memory.used_bytes == 0


@pytest.mark.parametrize("client_id", ["c" * 30_000, "\N{GRINNING FACE}" * 30_000])
def test_long_texts_of_clients_are_cut(client_id: str) -> None:
    world = GroupWorld()
    world.join(client_id=client_id, version=3)
    event = last_event(world)
    assert event.member is not None
    assert max(map(len, (event.text, event.member.member_id, event.member.client_id))) <= 256
