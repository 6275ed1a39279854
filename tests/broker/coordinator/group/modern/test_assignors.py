"""Assignors give every partition to one subscriber, evenly, and move little."""

from collections import Counter
from collections.abc import Generator, Mapping
from itertools import chain
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.coordinator.group.modern.assignment import EMPTY, Assignment, pairs
from pybroker.broker.coordinator.group.modern.assignors.assignor import Assigned, GroupSpec, MemberSpec, assign
from pybroker.broker.coordinator.group.modern.assignors.table import ASSIGNORS
from support.time.line_count import counted_lines

UNIFORM, RANGE = ASSIGNORS["uniform"], ASSIGNORS["range"]
TOPICS = [UUID(int=number) for number in range(1, 6)]
A, B, C = TOPICS[:3]


def group_of(
    members: Mapping[str, set[UUID]],
    counts: Mapping[UUID, int],
    targets: Mapping[str, Assignment] | None = None,
    instances: Mapping[str, str] | None = None,
) -> GroupSpec:
    """A group whose members subscribe to these topics."""
    targets, instances = targets or {}, instances or {}
    specs = {
        name: MemberSpec(instances.get(name), frozenset(topics), targets.get(name, EMPTY))
        for name, topics in members.items()
    }
    subscribed = set().union(*members.values()) & counts.keys()
    existing = [topics & counts.keys() for topics in members.values()]
    is_homogeneous = all(topics == existing[0] for topics in existing)
    return GroupSpec(specs, {topic: counts[topic] for topic in subscribed}, is_homogeneous)


@st.composite
def groups(draw: st.DrawFn, *, same_topics: bool | None = None) -> GroupSpec:
    names = draw(st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8))
    counts = draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 12), max_size=5))
    some = st.sets(st.sampled_from(TOPICS))
    if same_topics if same_topics is not None else draw(st.booleans()):
        members = dict.fromkeys(names, draw(some))
    else:
        members = {name: draw(some) for name in names}
    owners = st.sampled_from([*"abcdefgh", None])
    targets: dict[str, dict[UUID, set[int]]] = {}
    for topic in TOPICS:  # also topics that are gone, and partitions that are
        for partition in range(draw(st.integers(0, 14))):
            owner = draw(owners)
            if owner is not None:
                targets.setdefault(owner, {}).setdefault(topic, set()).add(partition)
    frozen = {name: {topic: frozenset(own) for topic, own in by.items()} for name, by in targets.items()}
    return group_of(members, counts, frozen, draw(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("xyz"))))


def after(spec: GroupSpec, assigned: Assigned) -> GroupSpec:
    """The group with this result as its target."""
    members = {name: member._replace(target=assigned[name]) for name, member in spec.members.items()}
    return spec._replace(members=members)


def loads(assigned: Assigned) -> list[int]:
    return [len(list(pairs(own))) for own in assigned.values()]


def moved(spec: GroupSpec, assigned: Assigned) -> int:
    """How many partitions went from one of the members to another."""
    before = {each: name for name, member in spec.members.items() for each in pairs(member.target)}
    return sum(before.get(each, name) != name for name, own in assigned.items() for each in pairs(own))


@pytest.mark.parametrize("name", ASSIGNORS)
@given(spec=groups())
def test_each_partition_has_one_member_that_subscribes_to_it(name: str, spec: GroupSpec) -> None:
    assigned = assign(ASSIGNORS[name], spec)
    assert set(assigned) == set(spec.members)
    given_out = Counter(each for own in assigned.values() for each in pairs(own))
    read = set().union(*(member.topic_ids for member in spec.members.values())) & spec.partition_counts.keys()
    assert given_out == Counter((topic, each) for topic in read for each in range(spec.partition_counts[topic]))
    for member_id, own in assigned.items():
        assert own.keys() <= spec.members[member_id].topic_ids
        assert all(own.values())


@pytest.mark.parametrize("name", ASSIGNORS)
@given(spec=groups())
def test_result_depends_neither_on_the_order_of_members_nor_on_earlier_calls(name: str, spec: GroupSpec) -> None:
    assigned = assign(ASSIGNORS[name], spec)
    turned = GroupSpec(
        dict(reversed(list(spec.members.items()))),
        dict(reversed(list(spec.partition_counts.items()))),
        spec.is_homogeneous,
    )
    assert assign(ASSIGNORS[name], turned) == assigned


@pytest.mark.parametrize("name", ASSIGNORS)
@given(spec=groups())
def test_nothing_moves_when_nothing_changed(name: str, spec: GroupSpec) -> None:
    assigned = assign(ASSIGNORS[name], spec)
    assert assign(ASSIGNORS[name], after(spec, assigned)) == assigned


@given(spec=groups(same_topics=True))
def test_uniform_gives_members_of_equal_subscriptions_equally_many(spec: GroupSpec) -> None:
    found = loads(assign(UNIFORM, spec))
    assert not found or max(found) - min(found) <= 1


@given(spec=groups())
def test_uniform_leaves_no_single_move_that_would_even_out_loads(spec: GroupSpec) -> None:
    assigned = assign(UNIFORM, spec)
    load = {name: len(list(pairs(own))) for name, own in assigned.items()}
    for giver, own in assigned.items():
        for taker, member in spec.members.items():
            if own.keys() & member.topic_ids:
                assert load[giver] - load[taker] <= 1


@given(spec=groups(same_topics=True), newcomer=st.sampled_from("ABz"))
def test_uniform_moves_no_more_than_a_newcomer_needs(spec: GroupSpec, newcomer: str) -> None:
    spec = after(spec, assign(UNIFORM, spec))
    topics = next((member.topic_ids for member in spec.members.values()), frozenset(spec.partition_counts))
    joined = spec._replace(members={**spec.members, newcomer: MemberSpec(None, topics, EMPTY)})
    assigned = assign(UNIFORM, joined)
    assert moved(joined, assigned) == (len(list(pairs(assigned[newcomer]))) if spec.members else 0)


def test_uniform_lets_members_with_one_more_keep_it() -> None:
    """KAFKA-18688: two members with two partitions, one with one, whatever their names."""
    targets: dict[str, Assignment] = {
        "a": {A: frozenset({0})},
        "b": {A: frozenset({1, 2})},
        "c": {A: frozenset({3, 4})},
    }
    spec = group_of({name: {A} for name in "abc"}, {A: 5}, targets)
    assert assign(UNIFORM, spec) == targets


@given(spec=groups())
def test_range_gives_the_first_members_longer_runs(spec: GroupSpec) -> None:
    """When m subscribers share n partitions, the first n mod m get n div m + 1 each, and the others n div m."""
    assigned = assign(RANGE, spec)
    in_order = sorted(spec.members, key=lambda name: (spec.members[name].instance_id or "~", name))
    for topic, count in spec.partition_counts.items():
        subscribers = [name for name in in_order if topic in spec.members[name].topic_ids]
        share, longer = divmod(count, len(subscribers))
        runs = [[name] * (share + (place < longer)) for place, name in enumerate(subscribers)]
        for partition, name in enumerate(chain.from_iterable(runs)):
            assert partition in assigned[name][topic]


def test_range_cuts_topics_of_equal_size_in_the_same_places() -> None:
    assigned = assign(RANGE, group_of({name: {A, B, C} for name in "ab"}, {A: 3, B: 3, C: 1}))
    assert assigned == {
        "a": {A: frozenset({0, 1}), B: frozenset({0, 1}), C: frozenset({0})},
        "b": {A: frozenset({2}), B: frozenset({2})},
    }


def test_range_puts_static_members_first_by_their_instance_ids() -> None:
    spec = group_of({name: {A} for name in "abc"}, {A: 3}, instances={"c": "1", "b": "2"})
    assert assign(RANGE, spec) == {"c": {A: frozenset({0})}, "b": {A: frozenset({1})}, "a": {A: frozenset({2})}}


def large_group(members: int, topics: int, partitions: int, same_topics: bool) -> GroupSpec:
    ids = [UUID(int=number + 1) for number in range(topics)]
    kinds = [frozenset(ids[kind % topics :: 1 if same_topics else 3]) | {ids[0]} for kind in range(3)]
    chosen = {f"member-{number}": kinds[0 if same_topics else number % 3] for number in range(members)}
    specs = {name: MemberSpec(None, topic_ids, EMPTY) for name, topic_ids in chosen.items()}
    return GroupSpec(specs, dict.fromkeys(set().union(*kinds), partitions), same_topics)


def most_lines_in_a_step(steps: Generator[None, None, Assigned]) -> tuple[int, Assigned]:
    most = 0
    while True:
        try:
            with counted_lines() as count:
                next(steps)
        except StopIteration as end:
            return max(most, count.lines), end.value
        most = max(most, count.lines)


@pytest.mark.parametrize("name", ASSIGNORS)
@pytest.mark.parametrize("same_topics", [True, False])
@pytest.mark.parametrize(
    ("members", "topics", "partitions"),
    [(1_000, 1, 10_000), (1_000, 100, 100), (1, 10, 1_000), (30, 3_000, 2)],
    ids=["one topic", "many members", "one member", "many topics"],
)
def test_no_step_is_long_in_a_large_group(
    name: str, same_topics: bool, members: int, topics: int, partitions: int
) -> None:
    """A step may take a millisecond, which is time for some 20,000 lines.

    The group gets its first assignment, keeps it, and gives a part of it to newcomers.
    """
    spec = large_group(members, topics, partitions, same_topics)
    steps = ASSIGNORS[name].steps
    first, assigned = most_lines_in_a_step(steps(spec))
    again, _ = most_lines_in_a_step(steps(after(spec, assigned)))
    grown, _ = most_lines_in_a_step(steps(joined_by_as_many(spec, assigned)))
    assert max(first, again, grown) < 15_000


def joined_by_as_many(spec: GroupSpec, assigned: Assigned) -> GroupSpec:
    """The group after its first assignment, and twice as many members."""
    newcomers = {f"new-{name}": member for name, member in spec.members.items()}
    return spec._replace(members={**after(spec, assigned).members, **newcomers})
