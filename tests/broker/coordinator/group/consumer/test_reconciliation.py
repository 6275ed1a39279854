"""A member of a consumer group is led from what it has to its target, one heartbeat after the other (KIP-848)."""

from uuid import UUID

import pytest
from pybroker.broker.coordinator.group.consumer.reconciliation import Goal, reconcile
from pybroker.broker.coordinator.group.consumer.records import CurrentMember
from pybroker.broker.coordinator.group.consumer.states import MemberState
from pybroker.broker.coordinator.group.modern.assignment import EMPTY, Assignment
from pybroker.protocol.errors import FencedMemberEpochError

T, U = UUID(int=1), UUID(int=2)
STABLE, UNREVOKED, UNRELEASED, UNKNOWN = MemberState


def parts(*partitions: int, topic: UUID = T) -> Assignment:
    return {topic: frozenset(partitions)} if partitions else EMPTY


def member(
    state: MemberState, assigned: Assignment, revoking: Assignment = EMPTY, epoch: int = 5, previous: int = 4
) -> CurrentMember:
    return CurrentMember("a", epoch, previous, state, assigned, revoking)


def led(
    current: CurrentMember,
    target: Assignment,
    *,
    epoch: int = 6,
    owned: Assignment | None = None,
    others: Assignment = EMPTY,
    subscribed: tuple[UUID, ...] = (T, U),
    client_epoch: int | None = None,
    changed: bool = False,
) -> CurrentMember:
    """The member's next assignment. ``others``: what other members own."""
    owners = {(topic, p): "b" for topic, own in others.items() for p in own}
    for assignment in (current.assigned, current.revoking):
        owners.update({(topic, p): "a" for topic, own in assignment.items() for p in own})
    knows = current.epoch if client_epoch is None else client_epoch
    return reconcile(current, Goal(epoch, target, owners, lambda topic: topic in subscribed, owned, knows, changed))


def test_member_that_has_its_target_stays_as_it_is() -> None:
    current = member(STABLE, parts(1, 2), epoch=6)
    assert led(current, parts(1, 2)) is current


def test_member_gets_free_partitions_with_the_epoch_of_the_target() -> None:
    assert led(member(STABLE, parts(1)), parts(1, 2)) == member(STABLE, parts(1, 2), epoch=6, previous=5)


def test_member_gets_the_new_epoch_when_its_target_is_what_it_has() -> None:
    assert led(member(STABLE, parts(1)), parts(1)) == member(STABLE, parts(1), epoch=6, previous=5)


def test_client_that_does_not_know_its_epoch_may_come_with_the_one_that_it_knows() -> None:
    after = led(member(STABLE, parts(1)), parts(1), client_epoch=4)
    assert after == member(STABLE, parts(1), epoch=6, previous=4)


@pytest.mark.parametrize("owned", [None, parts(1, 2), parts(2)])
def test_member_first_gives_partitions_back_in_its_old_epoch(owned: Assignment | None) -> None:
    after = led(member(STABLE, parts(1, 2)), parts(1, 3), owned=owned)
    assert after == member(UNREVOKED, parts(1), parts(2))


def test_member_that_has_given_back_already_need_not_wait() -> None:
    after = led(member(STABLE, parts(1, 2)), parts(1, 3), owned=parts(1))
    assert after == member(STABLE, parts(1, 3), epoch=6, previous=5)


def test_member_waits_for_partitions_that_others_own() -> None:
    after = led(member(STABLE, parts(1)), parts(1, 2, 3), others=parts(3))
    assert after == member(UNRELEASED, parts(1, 2), epoch=6, previous=5)


@pytest.mark.parametrize("owned", [None, parts(2), parts(1, 2)])
def test_member_stays_while_the_client_has_what_it_must_give_back(owned: Assignment | None) -> None:
    current = member(UNREVOKED, parts(1), parts(2))
    assert led(current, parts(1, 3), owned=owned) is current


def test_member_goes_on_when_the_client_has_given_back() -> None:
    after = led(member(UNREVOKED, parts(1), parts(2)), parts(1, 3), owned=parts(1))
    assert after == member(STABLE, parts(1, 3), epoch=6, previous=5)


def test_member_that_must_give_back_once_more_stays_in_its_epoch() -> None:
    after = led(member(UNREVOKED, parts(1, 4), parts(2)), parts(4), owned=parts(1, 4), epoch=7)
    assert after == member(UNREVOKED, parts(4), parts(1))


def test_member_gets_back_what_it_has_just_given_back() -> None:
    after = led(member(UNREVOKED, parts(1), parts(2)), parts(1, 2), owned=parts(1))
    assert after == member(STABLE, parts(1, 2), epoch=6, previous=5)


def test_waiting_member_gets_partitions_as_they_become_free() -> None:
    current = member(UNRELEASED, parts(1), epoch=6, previous=5)
    waiting = led(current, parts(1, 2, 3), others=parts(3))
    assert waiting == member(UNRELEASED, parts(1, 2), epoch=6, previous=5)
    assert led(waiting, parts(1, 2, 3)) == member(STABLE, parts(1, 2, 3), epoch=6, previous=5)


def test_waiting_member_is_led_to_a_newer_target() -> None:
    after = led(member(UNRELEASED, parts(1), epoch=6), parts(2), epoch=7, owned=parts(1))
    assert after == member(UNREVOKED, EMPTY, parts(1), epoch=6)


def test_member_gets_nothing_of_topics_that_it_does_not_read() -> None:
    target = {**parts(1), **parts(1, topic=U)}
    after = led(member(STABLE, EMPTY), target, subscribed=(T,))
    assert after == member(STABLE, parts(1), epoch=6, previous=5)


def test_unsubscribed_topics_are_taken_before_there_is_a_new_target() -> None:
    current = member(STABLE, {**parts(1), **parts(1, topic=U)}, epoch=6)
    after = led(current, current.assigned, subscribed=(T,), changed=True)
    assert after == member(UNREVOKED, parts(1), parts(1, topic=U), epoch=6)


def test_unsubscribed_topics_that_the_client_has_given_back_are_gone_at_once() -> None:
    current = member(STABLE, {**parts(1), **parts(1, topic=U)}, epoch=6)
    after = led(current, current.assigned, subscribed=(T,), changed=True, owned=parts(1))
    assert after == member(STABLE, parts(1), epoch=6)


def test_unsubscribed_topics_are_added_to_what_must_be_given_back() -> None:
    current = member(UNREVOKED, {**parts(1), **parts(1, topic=U)}, parts(2))
    after = led(current, parts(1), subscribed=(T,), changed=True)
    assert after == member(UNREVOKED, parts(1), {**parts(2), **parts(1, topic=U)})


def test_changed_subscription_takes_nothing_that_is_still_read() -> None:
    current = member(STABLE, parts(1), epoch=6)
    assert led(current, parts(1), changed=True) is current


@pytest.mark.parametrize("owned", [None, parts(1)])
def test_member_in_an_unknown_state_is_fenced(owned: Assignment | None) -> None:
    with pytest.raises(FencedMemberEpochError):
        led(member(UNKNOWN, parts(1)), parts(1), owned=owned)


def test_member_in_an_unknown_state_that_has_nothing_is_led_to_its_target() -> None:
    after = led(member(UNKNOWN, parts(1)), parts(2), owned=EMPTY)
    assert after == member(STABLE, parts(2), epoch=6, previous=5)
