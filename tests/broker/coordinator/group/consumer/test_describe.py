"""ConsumerGroupDescribe shows the epochs of a group, and what each member has and shall get."""

from pybroker.broker.coordinator.group.consumer.describe import described
from pybroker.broker.coordinator.group.modern.described_topics import DescribedTopic
from support.in_process.consumer_groups import SETTINGS, CoordinatedGroup, Topics


def test_group_is_described_with_epochs_members_and_assignments() -> None:
    group = CoordinatedGroup(topics := Topics(t=2))
    group.beat("a", 0, names=("t",), instance_id="i", server_assignor="range")
    group.beat("b", 0, names=("t",))
    shown = described(group.group, SETTINGS.assignors, topics)
    assert shown[:5] == ("g", "Reconciling", 2, 2, "range")
    a, b = shown.members
    assert (a.metadata.member_id, a.metadata.instance_id, a.epoch) == ("a", "i", 1)
    assert a.assigned == (DescribedTopic(topics.topic_id("t"), "t", (0, 1)),)
    assert b.assigned == ()
    assert sorted((*a.target[0].partitions, *b.target[0].partitions)) == [0, 1]


def test_member_has_what_it_must_give_back_until_it_has() -> None:
    group = CoordinatedGroup(topics := Topics(t=2))
    owned = group.beat("a", 0, names=("t",)).assignment
    group.beat("b", 0, names=("t",))
    group.beat("a", 1, owned=owned)
    a, _ = described(group.group, SETTINGS.assignors, topics).members
    assert a.assigned[0].partitions == (0, 1)


def test_topics_that_are_gone_are_left_out() -> None:
    group = CoordinatedGroup(topics := Topics(t=2))
    group.beat("a", 0, names=("t",))
    topics.delete("t")
    (a,) = described(group.group, SETTINGS.assignors, topics).members
    assert (a.assigned, a.target) == ((), ())


def test_default_assignor_is_shown_when_no_member_prefers_one() -> None:
    group = CoordinatedGroup(topics := Topics(t=2))
    group.beat("a", 0, names=("t",))
    assert described(group.group, SETTINGS.assignors, topics).assignor == "uniform"
