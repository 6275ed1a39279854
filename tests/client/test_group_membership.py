"""Members of a consumer group by the classic protocol."""

import threading
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.client import group_membership
from pybroker.client.client_settings import take_client_settings
from pybroker.client.given_options import GivenOptions
from pybroker.client.group_membership import GroupMembership, assigned_by_range, assigned_round_robin
from pybroker.client.target_cluster import TargetCluster

TOPICS = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True)
MEMBERS = st.dictionaries(st.text("xyz", min_size=1, max_size=3), TOPICS, min_size=1, max_size=5)
COUNTS = st.fixed_dictionaries({topic: st.integers(0, 7) for topic in "abc"})


@pytest.mark.parametrize("assign", [assigned_by_range, assigned_round_robin])
@given(wanted=MEMBERS, counts=COUNTS)
def test_each_wanted_partition_has_one_member_that_wants_it(
    assign: group_membership.Assignor, wanted: Mapping[str, Sequence[str]], counts: dict[str, int]
) -> None:
    partitions = [TopicPartition(topic, index) for topic, count in sorted(counts.items()) for index in range(count)]
    chosen = assign(wanted, partitions)
    assert set(chosen) == set(wanted)
    assert all(at.topic in wanted[member] for member, given in chosen.items() for at in given)
    read = {topic for topics in wanted.values() for topic in topics}
    assert sorted(at for given in chosen.values() for at in given) == [at for at in partitions if at.topic in read]


@pytest.mark.parametrize("assign", [assigned_by_range, assigned_round_robin])
@given(members=st.integers(1, 5), count=st.integers(0, 12))
def test_members_of_one_topic_have_equal_shares(assign: group_membership.Assignor, members: int, count: int) -> None:
    chosen = assign({f"m{number}": ["t"] for number in range(members)}, [TopicPartition("t", i) for i in range(count)])
    sizes = [len(given) for given in chosen.values()]
    assert max(sizes) - min(sizes) <= 1


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
