"""Groups take little time for each topic of a member, because a member may have 10,000."""

from uuid import UUID, uuid4

import pytest
from pybroker.broker.coordinator.group.modern.assignment import in_order, union
from pybroker.broker.coordinator.group.modern.memory import names_bytes
from pybroker.protocol.text_size import text_bytes


def test_topics_are_put_in_the_order_of_their_ids_without_comparing_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    topic_ids = [uuid4() for _ in range(20)]
    expected = [(topic_id, topic_id.hex) for topic_id in sorted(topic_ids)]
    for comparison in ("__lt__", "__gt__"):
        monkeypatch.delattr(UUID, comparison)
    assert in_order({topic_id: topic_id.hex for topic_id in topic_ids}) == expected


@pytest.mark.parametrize("names", [(), ("",), ("orders", "t"), ("orders", "größe"), ("größe",)])
def test_memory_of_names_is_that_of_each_name(names: tuple[str, ...]) -> None:
    of_name = names_bytes(("",))
    assert names_bytes(names) == sum(of_name + text_bytes(name) for name in names)


def test_union_has_the_partitions_of_both_assignments() -> None:
    first, second, third = (UUID(int=number) for number in range(3))
    one = {first: frozenset({0}), second: frozenset({1})}
    other = {second: frozenset({2}), third: frozenset({3})}
    assert union(one, other) == {first: frozenset({0}), second: frozenset({1, 2}), third: frozenset({3})}
    assert (union(one, {}), union({}, other), union({}, {})) == (one, other, {})
