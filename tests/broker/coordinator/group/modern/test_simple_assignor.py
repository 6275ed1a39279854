"""The assignor of share groups: balanced, complete, sticky, and the same for the same group."""

from collections.abc import ItemsView, Iterator
from random import Random
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.coordinator.group.modern.assignment import EMPTY, Assignment, pairs
from pybroker.broker.coordinator.group.modern.assignors.assignor import Assigned, MemberSpec, run_through
from pybroker.broker.coordinator.group.modern.assignors.simple import ShareSpec, simple_assignment

TOPICS = [UUID(int=number) for number in range(1, 4)]
ASSIGNABLE = st.dictionaries(st.sampled_from(TOPICS), st.frozensets(st.integers(0, 9), min_size=1), max_size=3)
TARGETS = st.dictionaries(st.sampled_from(TOPICS), st.frozensets(st.integers(0, 11), min_size=1, max_size=6))
MEMBERS = st.dictionaries(
    st.sampled_from([f"m{number}" for number in range(9)]),
    st.tuples(st.frozensets(st.sampled_from(TOPICS)), TARGETS),
    min_size=1,
)


def spec_of(assignable: Assignment, members: dict[str, tuple[frozenset[UUID], Assignment]]) -> ShareSpec:
    specs = {name: MemberSpec(None, topics & set(assignable), before) for name, (topics, before) in members.items()}
    return ShareSpec(specs, assignable, len({spec.topic_ids for spec in specs.values()}) == 1)


def assigned(spec: ShareSpec) -> Assigned:
    return run_through(simple_assignment(spec))


def again(spec: ShareSpec, before: Assigned) -> ShareSpec:
    """The group with a target."""
    members = {name: member._replace(target=before.get(name, EMPTY)) for name, member in spec.members.items()}
    return spec._replace(members=members)


def check_balance(result: Assigned, members: list[str], wanted: set[tuple[UUID, int]]) -> None:
    """Partitions have equally many members, as few as give each one; loads differ by one at most."""
    held = {name: {pair for pair in pairs(result[name]) if pair in wanted} for name in members}
    per_partition = -(-len(members) // len(wanted))
    for pair in wanted:
        assert sum(pair in own for own in held.values()) == per_partition
    loads = [len(own) for own in held.values()]
    assert max(loads) - min(loads) <= 1
    assert min(loads) >= 1


@given(ASSIGNABLE, MEMBERS)
def test_members_and_partitions_are_balanced_whatever_they_had_before(
    assignable: Assignment, members: dict[str, tuple[frozenset[UUID], Assignment]]
) -> None:
    spec = spec_of(assignable, members)
    result = assigned(spec)
    assert set(result) == set(members)
    for name, own in result.items():
        assert all(
            topic_id in spec.members[name].topic_ids and part <= assignable[topic_id] for topic_id, part in own.items()
        )
    if spec.is_homogeneous:
        (topics,) = {member.topic_ids for member in spec.members.values()}
        wanted = {pair for pair in pairs(assignable) if pair[0] in topics}
        if wanted:
            check_balance(result, list(members), wanted)
        return
    for topic_id, partitions in assignable.items():
        readers = [name for name, member in spec.members.items() if topic_id in member.topic_ids]
        if readers:
            check_balance(result, readers, {(topic_id, partition) for partition in partitions})


@given(ASSIGNABLE, MEMBERS)
def test_nothing_moves_when_nothing_changes(
    assignable: Assignment, members: dict[str, tuple[frozenset[UUID], Assignment]]
) -> None:
    spec = spec_of(assignable, members)
    result = assigned(spec)
    assert assigned(again(spec, result)) == result


@given(ASSIGNABLE, MEMBERS, st.randoms())
def test_order_of_members_does_not_matter(
    assignable: Assignment, members: dict[str, tuple[frozenset[UUID], Assignment]], random: Random
) -> None:
    spec = spec_of(assignable, members)
    names = list(spec.members)
    random.shuffle(names)
    assert assigned(spec._replace(members={name: spec.members[name] for name in names})) == assigned(spec)


@pytest.mark.parametrize(
    ("partitions", "members", "loads"),
    [(6, 3, [2, 2, 2]), (5, 2, [2, 3]), (2, 5, [1, 1, 1, 1, 2]), (1, 4, [1, 1, 1, 1]), (3, 3, [1, 1, 1])],
)
def test_loads_of_a_new_group(partitions: int, members: int, loads: list[int]) -> None:
    topic = TOPICS[0]
    all_members = {f"m{number}": (frozenset({topic}), EMPTY) for number in range(members)}
    result = assigned(spec_of({topic: frozenset(range(partitions))}, all_members))
    assert sorted(len(own.get(topic, ())) for own in result.values()) == loads


def test_member_that_joins_takes_its_share_and_no_more() -> None:
    topic = TOPICS[0]
    assignable = {topic: frozenset(range(9))}
    before = assigned(spec_of(assignable, {name: (frozenset({topic}), EMPTY) for name in "ab"}))
    after = assigned(again(spec_of(assignable, {name: (frozenset({topic}), EMPTY) for name in "abc"}), before))
    assert sorted(len(own[topic]) for own in after.values()) == [3, 3, 3]
    assert all(after[name][topic] <= before[name][topic] for name in "ab")


class Walked(dict[UUID, frozenset[int]]):
    """An assignment that counts how often somebody walks over it."""

    walks = 0

    def items(self) -> ItemsView[UUID, frozenset[int]]:  # type: ignore[override]
        Walked.walks += 1
        return super().items()

    def __iter__(self) -> Iterator[UUID]:
        Walked.walks += 1
        return super().__iter__()


def test_assignments_are_not_walked_for_each_topic_when_members_have_other_topics() -> None:
    topics = [UUID(int=1 + number) for number in range(200)]
    before = Walked({topic: frozenset({0}) for topic in topics})
    members: dict[str, tuple[frozenset[UUID], Assignment]] = {
        "a": (frozenset(topics), before),
        "b": (frozenset(topics[1:]), before),
    }
    assigned(spec_of({topic: frozenset({0}) for topic in topics}, members))
    assert Walked.walks < 10


def test_large_group_is_computed_in_many_steps() -> None:
    topics = frozenset(TOPICS)
    spec = ShareSpec(
        {f"m{number}": MemberSpec(None, topics, EMPTY) for number in range(1_000)},
        {topic: frozenset(range(10_000)) for topic in TOPICS},
        is_homogeneous=True,
    )
    assert sum(1 for _ in simple_assignment(spec)) > 100
