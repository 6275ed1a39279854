"""Reassignments of partitions of a `LoadedCluster`."""

from collections.abc import Mapping
from functools import partial

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest
from pybroker.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from support.load.loaded_cluster import LoadedCluster
from support.time.patience import await_answer, await_that

__all__ = ["ReplicasByTopic", "await_led_by_first", "await_moved", "begin_move"]

ReplicasByTopic = Mapping[str, list[list[int]]]
"""Replicas by topic and partition."""


def begin_move(it: LoadedCluster, replicas_by_topic: ReplicasByTopic) -> None:
    """Starts a reassignment; returns when it is in progress."""
    it.moved.update(replicas_by_topic)
    request = AlterPartitionReassignmentsRequest(
        topics=[
            ReassignableTopic(
                name=topic,
                partitions=[
                    ReassignablePartition(partition_index=number, replicas=replicas)
                    for number, replicas in enumerate(partitions)
                ],
            )
            for topic, partitions in replicas_by_topic.items()
        ],
        timeout_ms=10_000,
    )

    def begun() -> bool:
        answer = it.view.ask_controller(request, 0)
        return answer is not None and all(
            code == ErrorCode.NONE
            for code in (
                answer.error_code,
                *(each.error_code for topic in answer.responses for each in topic.partitions),
            )
        )

    await_that(begun, "the move begins")


def await_moved(it: LoadedCluster, replicas_by_topic: ReplicasByTopic) -> None:
    await_that(lambda: not _moves(it), "the move is done")
    for topic, partitions in replicas_by_topic.items():
        for number, replicas in enumerate(partitions):
            await_answer(
                lambda topic=topic, number=number: it.view.partition(topic, number).replica_nodes,  # type: ignore[misc]
                lambda found, replicas=replicas: found == replicas,  # type: ignore[misc]
                f"{topic}-{number} is on brokers {replicas}",
            )


def _moves(it: LoadedCluster) -> int:
    answer = it.view.ask_controller(ListPartitionReassignmentsRequest(topics=None, timeout_ms=10_000), 0)
    return 1 if answer is None or answer.error_code != ErrorCode.NONE else len(answer.topics)


def await_led_by_first(it: LoadedCluster, replicas_by_topic: ReplicasByTopic) -> None:
    """Waits until the first broker of each partition leads, so that the controller has no reason for another election,
    and until every broker knows that. Otherwise a broker that is then cut off from the controller would send clients to
    an earlier coordinator for as long as it is cut off.
    """

    def are_led() -> bool:
        it.view.ask_controller(ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=10_000), 2)
        return all(
            it.view.leader(topic, number) == replicas[0]
            for topic, partitions in replicas_by_topic.items()
            for number, replicas in enumerate(partitions)
        )

    def are_known_to(broker: int) -> bool:
        leaders = {
            (topic.name, each.partition_index): each.leader_id
            for topic in it.view.metadata(broker).topics
            for each in topic.partitions
        }
        return all(
            leaders.get((topic, number)) == replicas[0]
            for topic, partitions in replicas_by_topic.items()
            for number, replicas in enumerate(partitions)
        )

    await_that(are_led, "partitions are led by the first of their replicas")
    for broker in it.present:
        await_that(partial(are_known_to, broker), f"broker {broker} knows these leaders")
