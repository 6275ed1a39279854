"""The hash of topics notices each of their changes."""

from collections.abc import Collection
from functools import partial
from uuid import UUID

import pytest
from pybroker.broker.coordinator.group.modern import topics as topics_module
from pybroker.broker.coordinator.group.modern.topics import metadata_hash
from pybroker.protocol.codec.wire import NULL_UUID
from support.in_process import consumer_groups as coordinated


class Topics:
    """Topics by name, each with its id and number of partitions."""

    def __init__(self, **topics: tuple[int, int]) -> None:
        self._topics = topics

    @property
    def topics(self) -> Collection[str]:
        return self._topics

    def topic_id(self, name: str) -> UUID:
        return UUID(int=self._topics[name][0]) if name in self._topics else NULL_UUID

    def topic_name(self, topic_id: UUID) -> str | None:
        return next((name for name, (number, _) in self._topics.items() if number == topic_id.int), None)

    def partition_count(self, name: str) -> int:
        return self._topics.get(name, (0, 0))[1]


BEFORE = metadata_hash("ab", Topics(a=(1, 3), b=(2, 5)))


@pytest.mark.parametrize(
    "now",
    [
        Topics(a=(1, 4), b=(2, 5)),
        Topics(a=(3, 3), b=(2, 5)),
        Topics(a=(1, 3)),
        Topics(a=(2, 5), b=(1, 3)),
    ],
    ids=["grown", "made anew", "gone", "exchanged"],
)
def test_hash_differs_after_a_change(now: Topics) -> None:
    assert metadata_hash("ab", now) != BEFORE


def test_hash_depends_neither_on_order_nor_on_other_topics() -> None:
    assert metadata_hash("ba", Topics(c=(3, 1), b=(2, 5), a=(1, 3))) == BEFORE
    assert -(2**63) <= BEFORE < 2**63


def test_hash_is_the_same_for_topics_that_are_known_and_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    lookup, hashes = coordinated.Topics(t=3, u=2), []
    for change in (lambda: None, lambda: None, partial(lookup.create, "t", 5), partial(lookup.delete, "u")):
        change()
        hashes.append(metadata_hash("tu", lookup))
        with monkeypatch.context() as patched:
            patched.setattr(topics_module, "_known", {})
            assert metadata_hash("tu", lookup) == hashes[-1]
    assert len(set(hashes)) == 3


def test_hash_of_topics_that_do_not_exist_is_0() -> None:
    assert metadata_hash(["a", "without-id"], Topics(**{"without-id": (0, 3)})) == 0
