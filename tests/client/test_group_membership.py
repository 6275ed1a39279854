"""Members of a consumer group by the classic protocol."""

import threading
from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.client import group_membership
from pybroker.client.client_settings import take_client_settings
from pybroker.client.given_options import GivenOptions
from pybroker.client.group_assignors import ASSIGNORS
from pybroker.client.group_membership import GroupMembership
from pybroker.client.target_cluster import TargetCluster

TOPICS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True)
MEMBERS = st.dictionaries(st.text("xyz", min_size=1, max_size=3), TOPICS, min_size=1, max_size=5)
COUNTS = st.fixed_dictionaries({topic: st.integers(0, 7) for topic in "abc"})
CLAIMS = st.lists(st.tuples(st.integers(0, 4), st.sampled_from("abcd"), st.integers(0, 8)), max_size=30)
GIVES_ALL = ["range", "roundrobin", "sticky"]


def partitions_of(counts: Mapping[str, int]) -> list[TopicPartition]:
    return [TopicPartition(topic, index) for topic, count in sorted(counts.items()) for index in range(count)]


def claimed(members: Iterable[str], claims: Iterable[tuple[int, str, int]]) -> dict[str, list[TopicPartition]]:
    """The partitions that members name as theirs. A partition may not exist, and several members may name it."""
    names = sorted(members)
    owned: dict[str, list[TopicPartition]] = {name: [] for name in names}
    for number, topic, index in claims:
        owned[names[number % len(names)]].append(TopicPartition(topic, index))
    return owned


@pytest.mark.parametrize("name", GIVES_ALL)
@given(wanted=MEMBERS, counts=COUNTS, claims=CLAIMS)
def test_each_wanted_partition_has_one_member_that_wants_it(
    name: str, wanted: Mapping[str, Sequence[str]], counts: dict[str, int], claims: list[tuple[int, str, int]]
) -> None:
    partitions = partitions_of(counts)
    chosen = ASSIGNORS[name](wanted, partitions, claimed(wanted, claims))
    assert set(chosen) == set(wanted)
    assert all(at.topic in wanted[member] for member, given in chosen.items() for at in given)
    read = {topic for topics in wanted.values() for topic in topics}
    assert sorted(at for given in chosen.values() for at in given) == [at for at in partitions if at.topic in read]


@pytest.mark.parametrize("name", GIVES_ALL)
@given(members=st.integers(1, 5), count=st.integers(0, 12), claims=CLAIMS)
def test_members_of_one_topic_have_equal_shares(
    name: str, members: int, count: int, claims: list[tuple[int, str, int]]
) -> None:
    wanted = {f"m{number}": ["a"] for number in range(members)}
    chosen = ASSIGNORS[name](wanted, partitions_of({"a": count}), claimed(wanted, claims))
    sizes = [len(given) for given in chosen.values()]
    assert max(sizes) - min(sizes) <= 1


@given(wanted=MEMBERS, counts=COUNTS, claims=CLAIMS)
def test_cooperative_members_never_get_what_another_has_and_read_everything_in_the_end(
    wanted: Mapping[str, Sequence[str]], counts: dict[str, int], claims: list[tuple[int, str, int]]
) -> None:
    partitions, owned = partitions_of(counts), claimed(wanted, claims)
    for _ in range(9):
        chosen = ASSIGNORS["cooperative-sticky"](wanted, partitions, owned)
        for member, given_now in chosen.items():
            assert not any(at in owned[other] for at in given_now for other in owned if other != member)
        owned = chosen
    read = {topic for topics in wanted.values() for topic in topics}
    assert sorted(at for given in owned.values() for at in given) == [at for at in partitions if at.topic in read]


def test_members_share_partitions_and_go_on_from_commits(
    servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_membership, "_HEARTBEAT_S", 0)
    settings = take_client_settings(GivenOptions({"bootstrap.servers": servers}), "test")
    with TargetCluster(settings) as maker:
        maker.make_partitions({topic: 4})
    everything = [TopicPartition(topic, index) for index in range(4)]
    first, second = (GroupMembership(settings, topic, [topic]) for _ in range(2))
    assert first.join() == everything
    assert not first.must_rejoin()
    assert first.commit({everything[3]: 7})
    joined: list[TopicPartition] = []
    joining = threading.Thread(target=lambda: joined.extend(second.join()), daemon=True)
    joining.start()
    while not first.must_rejoin():
        pass
    mine = first.join()
    joining.join()
    assert (len(mine), sorted(mine + joined)) == (2, everything)
    assert second.committed(everything) == {everything[3]: 7}
    second.leave()
    while not first.must_rejoin():
        pass
    assert not second.commit({everything[0]: 1}), "it is no member any more"
    assert first.join() == everything
    first.leave()
