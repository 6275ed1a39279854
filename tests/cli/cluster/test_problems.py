"""`problems_in` finds the problems of a cluster in its metadata."""

import pytest
from pybroker.cli.cluster.problems import problems_in
from pybroker.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)


def cluster(
    *, leader: int = 1, isr: tuple[int, ...] = (1, 2, 3), alive: tuple[int, ...] = (1, 2, 3)
) -> MetadataResponse:
    """A cluster whose topic has one partition with replicas on the brokers 1, 2 and 3."""
    partition = MetadataResponsePartition(
        partition_index=0, leader_id=leader, replica_nodes=[1, 2, 3], isr_nodes=list(isr)
    )
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=each, host="h", port=1) for each in alive],
        controller_id=1,
        topics=[MetadataResponseTopic(name="t", partitions=[partition])],
    )


@pytest.mark.parametrize(
    ("metadata", "kinds"),
    [
        (cluster(), []),
        (cluster(isr=(1, 2)), ["under-replicated"]),
        (cluster(isr=(1,)), ["under min ISR"]),
        (cluster(isr=(1, 2), alive=(1, 2)), ["broker missing", "under-replicated"]),
        (cluster(leader=-1, isr=(1,)), ["no leader"]),
        (cluster(leader=1, isr=(2, 3), alive=(2, 3)), ["no controller", "broker missing", "no leader"]),
        (MetadataResponse(brokers=[], controller_id=-1, topics=[]), ["no controller"]),
    ],
)
def test_each_partition_is_counted_at_its_worst_problem(metadata: MetadataResponse, kinds: list[str]) -> None:
    assert [each.kind for each in problems_in(metadata, {"t": 2})] == kinds


def test_partition_needs_no_more_replicas_in_sync_than_it_has() -> None:
    assert problems_in(cluster(), {"t": 5}) == []


def test_long_lists_are_cut_but_counted() -> None:
    partitions = [
        MetadataResponsePartition(partition_index=number, leader_id=-1, replica_nodes=[1], isr_nodes=[1])
        for number in range(1000)
    ]
    metadata = MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=1, host="h", port=1)],
        controller_id=1,
        topics=[MetadataResponseTopic(name="t", partitions=partitions)],
    )
    (problem,) = problems_in(metadata, {})
    assert (problem.what, problem.count, len(problem.items)) == ("1,000 partitions without a leader", 1000, 20)
