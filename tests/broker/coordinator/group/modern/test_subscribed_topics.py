"""The hash and the index of a group's topics follow changes of a few topics without a look at all of them."""

from unittest.mock import patch
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.coordinator.group.migration.rules import has_to_join_again
from pybroker.broker.coordinator.group.modern import subscribed_topics as module
from pybroker.broker.coordinator.group.modern.subscribed_topics import NO_CHANGES, SubscribedTopics, TopicChanges
from pybroker.broker.coordinator.group.modern.subscriptions import SubscriptionIndex
from pybroker.broker.coordinator.group.modern.topics import metadata_hash
from support.in_process.consumer_groups import CoordinatedGroup, Topics
from support.share_groups.decisions import SharedGroup

NAMES = "abcd"
SUBSCRIPTIONS = st.sets(st.sampled_from(NAMES)).map(lambda names: tuple(sorted(names)))
MANY = tuple(f"topic-{number}" for number in range(1_100))


class CountedTopics(Topics):
    """Topics that count how often one is looked up."""

    looked_up = 0

    def topic_id(self, name: str) -> UUID:
        self.looked_up += 1
        return super().topic_id(name)


@given(st.lists(st.tuples(st.sampled_from(NAMES), SUBSCRIPTIONS, st.integers(0, 2), st.booleans()), max_size=12))
def test_hash_that_follows_changes_equals_the_hash_of_all_topics(
    steps: list[tuple[str, tuple[str, ...], int, bool]],
) -> None:
    topics, subscribed, index = Topics(a=1, b=2), SubscribedTopics(), SubscriptionIndex()
    members: dict[str, tuple[str, ...]] = {}
    for name, names, change, takes in steps:
        before = members.get(name, ())
        changes = subscribed.changes_between(before, names)
        members[name] = names
        read = {topic for own in members.values() for topic in own}
        assert subscribed.hash_after(changes, topics) == metadata_hash(read, topics)
        assert set(subscribed.topics_after(changes)) == read
        subscribed.count(before, -1)
        subscribed.count(names, 1)
        assert set(subscribed.topics) == read
        if takes:
            index.change("g", subscribed.take_changes(topics))
            assert {topic for topic in NAMES if index.groups_of(topic)} == read
        if change:
            topics.create(name, topics.partition_count(name) + change)
            subscribed.forget_hash()
        assert subscribed.hash_after(NO_CHANGES, topics) == metadata_hash(read, topics)


@given(
    before=SUBSCRIPTIONS,
    steps=st.lists(SUBSCRIPTIONS, max_size=6),
    first=st.integers(0, 6),
)
def test_hash_that_is_computed_in_steps_follows_changes_of_the_subscription_meanwhile(
    before: tuple[str, ...], steps: list[tuple[str, ...]], first: int
) -> None:
    topics, subscribed = Topics(a=1, b=2, c=3), SubscribedTopics()
    with patch.object(module, "_STEP", 1):
        subscribed.count(before, 1)
        subscribed.take_changes(topics)
        subscribed.hash_after(NO_CHANGES, topics)
        topics.create("a", 5)
        run, names = subscribed.hash_steps(topics), before
        for number, change in enumerate(steps):
            if number >= first:
                next(run, None)
            subscribed.count(names, -1)
            subscribed.count(change, 1)
            subscribed.take_changes(topics)
            names = change
        list(run)
        assert subscribed.hash_after(NO_CHANGES, topics) == metadata_hash(names, topics)


@given(st.lists(st.tuples(st.sampled_from("gh"), st.frozensets(st.sampled_from("abc")))))
def test_index_has_the_last_subscription_of_each_group(changes: list[tuple[str, frozenset[str]]]) -> None:
    index, last = SubscriptionIndex(), dict.fromkeys("gh", frozenset[str]())
    for group_id, topics in changes:
        index.change(group_id, TopicChanges(topics - last[group_id], last[group_id] - topics))
        last[group_id] = topics
    for topic in "abc":
        assert sorted(index.groups_of(topic)) == sorted(each for each, topics in last.items() if topic in topics)


def test_member_with_one_topic_comes_and_goes_without_a_look_at_all_topics_of_a_consumer_group() -> None:
    topics = CountedTopics(t=1)
    group = CoordinatedGroup(topics)
    group.beat("many", 0, names=MANY)
    group.beat("other", 0, names=("t",))
    topics.looked_up = 0
    group.beat("few", 0, names=("t", "new"))
    group.fence("few")
    assert topics.looked_up < 100


def test_member_with_one_topic_comes_and_goes_without_a_look_at_all_topics_of_a_share_group() -> None:
    topics = CountedTopics(t=1)
    shared = SharedGroup(topics)
    shared.beat("many", 0, *MANY)
    epoch = shared.beat("other", 0, "t").member_epoch
    shared.beat("other", epoch)  # it looks at all topics, because a state of one was noted
    topics.looked_up = 0
    shared.beat("few", 0, "t", "new")
    shared.fence("few")
    assert topics.looked_up < 100


def test_heartbeats_of_a_classic_member_that_has_to_join_again_look_at_all_topics_once() -> None:
    topics = CountedTopics(t=1)
    group = CoordinatedGroup(topics)
    epoch = group.beat("a", 0, names=MANY).member_epoch
    topics.create(MANY[0], 1)
    group.group.note_topics_changed()
    topics.looked_up = 0
    for _ in range(10):
        assert has_to_join_again(group.group, group.group.members["a"], epoch, topics)
    assert topics.looked_up < 2 * len(MANY)
