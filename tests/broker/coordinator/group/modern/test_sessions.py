"""Sessions that are over at the same time end one in a turn of the event loop."""

from pybroker.broker.coordinator.group.base import GroupBase
from pybroker.broker.coordinator.group.modern.sessions import Sessions
from pybroker.broker.coordinator.group.share.share_group import ShareGroup
from support.time.virtual_time import VirtualTime


class World:
    """Sessions of members of one group."""

    def __init__(self, *member_ids: str) -> None:
        self.time = VirtualTime()
        self.timeout_ms = self.grace_ms = 0
        self.ended: list[str] = []
        self.group = ShareGroup("g")
        self.sessions: Sessions[GroupBase] = Sessions(
            self.time,
            lambda group, member_id: self.timeout_ms,
            lambda group, member_id: self.ended.append(member_id),
            lambda group, member_id: self.grace_ms,
        )
        for member_id in member_ids:
            self.sessions.keep_alive(self.group, member_id)


def test_sessions_that_are_over_end_one_by_one_in_turns_of_the_event_loop() -> None:
    world = World("a", "b", "c")
    for count in (1, 2, 3, 3):
        world.time.turn()
        assert world.ended == ["a", "b", "c"][:count]
    assert world.time.armed_count == 0


def test_member_that_comes_back_before_its_turn_stays_for_another_session() -> None:
    world = World("a", "b", "c")
    world.time.turn()
    world.timeout_ms = 1_000
    world.sessions.keep_alive(world.group, "b")
    world.time.advance(999)
    assert world.ended == ["a", "c"]
    world.time.advance(1)
    assert world.ended == ["a", "c", "b"]


def test_member_with_grace_is_removed_when_it_has_none_any_more() -> None:
    world = World("a", "b")
    world.grace_ms = 1_000
    world.time.advance(1_000)
    world.grace_ms = 0
    world.time.advance(999)
    assert world.ended == []
    world.time.advance(1)
    assert world.ended == ["a", "b"]


def test_member_that_leaves_before_its_turn_is_not_removed_again() -> None:
    world = World("a", "b", "c")
    world.time.turn()
    world.sessions.end(world.group, "b")
    world.time.advance(1)
    assert world.ended == ["a", "c"]


def test_no_session_of_a_group_ends_after_the_group_has_moved_to_another_broker() -> None:
    world = World("a", "b", "c")
    world.time.turn()
    world.sessions.end_all(world.group)
    world.time.advance(1)
    assert world.ended == ["a"]
    assert world.time.armed_count == 0
