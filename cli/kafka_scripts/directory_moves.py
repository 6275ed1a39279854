"""Moves of replicas between the log directories of their brokers, for ``kafka-reassign-partitions``."""

import sys
import time
from collections.abc import Mapping
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from ...protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from .kafka_errors import check_code
from .reassign_input import Replica

__all__ = ["directory_move_lines", "moving_from", "start_directory_moves"]

_PAUSE_S = 0.1
_Wanted = Mapping[Replica, str]


class _Place(NamedTuple):
    """The directory of a replica, and the one that it moves to."""

    current: str | None = None
    future: str | None = None


def directory_move_lines(cluster: AdminCluster, wanted: _Wanted) -> tuple[list[str], bool]:
    """A line for each replica, and whether all are there and none moves. Raises KafkaError."""
    places = _places(cluster, wanted)
    lines = [_line(replica, places[replica], wanted[replica]) for replica in sorted(wanted)]
    return lines, all(place.current is not None and place.future is None for place in places.values())


def moving_from(cluster: AdminCluster, wanted: _Wanted) -> dict[Replica, str]:
    """The replicas that move, with the directories that they leave. Raises KafkaError."""
    return {
        replica: place.current
        for replica, place in _places(cluster, wanted).items()
        if place.current is not None and place.future is not None
    }


def start_directory_moves(cluster: AdminCluster, wanted: _Wanted, wait_ms: int) -> list[Replica]:
    """Begin moves and say so. Returns the replicas that were not on their brokers in time. Raises KafkaError."""
    pending = dict(wanted)
    until_s = time.monotonic() + wait_ms / 1000
    while pending:
        for replica in sorted(pending):
            if _has_begun(cluster, replica, pending[replica]):
                sys.stdout.write(
                    f"Successfully started moving log directory to {pending.pop(replica)} for replica {replica.at} "
                    f"with broker {replica.broker} \n"
                )
        if pending and time.monotonic() >= until_s:
            break
        if pending:
            time.sleep(_PAUSE_S)
    return sorted(pending)


def _has_begun(cluster: AdminCluster, replica: Replica, directory: str) -> bool:
    topics = [AlterReplicaLogDirTopic(name=replica.at.topic, partitions=[replica.at.partition])]
    request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=directory, topics=topics)])
    ((result,),) = (topic.partitions for topic in cluster.ask_broker(replica.broker, request).results)
    if result.error_code == ErrorCode.REPLICA_NOT_AVAILABLE:
        return False
    if result.error_code:
        raise error_for(result.error_code, f"Failed to alter dir for {replica}")
    return True


def _places(cluster: AdminCluster, wanted: _Wanted) -> dict[Replica, _Place]:
    found = {replica: _Place() for replica in wanted}
    for broker in sorted({replica.broker for replica in wanted}):
        topics: dict[str, list[int]] = {}
        for replica in wanted:
            if replica.broker == broker:
                topics.setdefault(replica.at.topic, []).append(replica.at.partition)
        asked = [DescribableLogDirTopic(topic=topic, partitions=numbers) for topic, numbers in topics.items()]
        answer = cluster.ask_broker(broker, DescribeLogDirsRequest(topics=asked))
        check_code(answer.error_code, None)
        for directory in answer.results:
            for topic in directory.topics:
                for each in topic.partitions:
                    replica = Replica(broker, TopicPartition(topic.name, each.partition_index))
                    if replica in found:
                        place = found[replica]
                        found[replica] = (
                            place._replace(future=directory.log_dir)
                            if each.is_future_key
                            else place._replace(current=directory.log_dir)
                        )
    return found


def _line(replica: Replica, place: _Place, wanted: str) -> str:
    if place.current is None:
        return (
            f"Partition {replica.at} is not found in any live log dir on broker {replica.broker}. There is likely an "
            "offline log directory on the broker."
        )
    if place.future == wanted:
        return f"Reassignment of replica {replica} is still in progress."
    if place.future is not None:
        return (
            f"Partition {replica.at} on broker {replica.broker} is being moved to log dir {place.future} instead of "
            f"{wanted}."
        )
    if place.current == wanted:
        return f"Reassignment of replica {replica} completed successfully."
    return (
        f"Partition {replica.at} on broker {replica.broker} is not being moved from log dir {place.current} to "
        f"{wanted}."
    )
