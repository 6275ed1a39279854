"""Throttles of replicas that move, which ``kafka-reassign-partitions`` sets and clears."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from .kafka_errors import check_code
from .reassign_input import Assignment

__all__ = ["Move", "clear_throttles", "limit_directory_moves", "limit_moves", "moves_of"]

_TOPIC, _BROKER = 2, 4
_SET, _DELETE = 0, 1
_RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")
_DIRECTORY_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
_LEADERS, _FOLLOWERS = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"


class Move(NamedTuple):
    """Brokers that have a partition, and those that get it."""

    sources: frozenset[int]
    destinations: frozenset[int]


def moves_of(
    under_way: Mapping[TopicPartition, Move], proposed: Assignment, current: Assignment
) -> dict[TopicPartition, Move]:
    """The moves under way and those of a plan. A partition that moves already keeps its sources."""
    found = dict(under_way)
    for at, replicas in proposed.items():
        sources = found[at].sources if at in found else frozenset(current[at])
        found[at] = Move(sources, frozenset(replicas) - sources)
    return found


def limit_moves(cluster: AdminCluster, moves: Mapping[TopicPartition, Move], rate: int) -> None:
    """Let brokers copy these partitions with so many bytes a second. Raises KafkaError."""
    topics = {
        topic: {
            _LEADERS: _replicas(topic, {at: move.sources for at, move in moves.items()}),
            _FOLLOWERS: _replicas(topic, {at: move.destinations for at, move in moves.items()}),
        }
        for topic in sorted({at.topic for at in moves})
    }
    _alter(cluster, _TOPIC, topics)
    brokers = sorted({broker for move in moves.values() for broker in move.sources | move.destinations})
    _alter(cluster, _BROKER, {str(broker): dict.fromkeys(_RATES, str(rate)) for broker in brokers})


def limit_directory_moves(cluster: AdminCluster, brokers: Iterable[int], rate: int) -> None:
    """Let brokers move replicas between their directories with so many bytes a second. Raises KafkaError."""
    _alter(cluster, _BROKER, {str(broker): {_DIRECTORY_RATE: str(rate)} for broker in sorted(brokers)})


def clear_throttles(cluster: AdminCluster, brokers: Iterable[int], topics: Iterable[str]) -> None:
    """Remove the throttles of brokers and topics. Raises KafkaError."""
    _alter(cluster, _BROKER, {str(broker): dict.fromkeys((*_RATES, _DIRECTORY_RATE)) for broker in brokers})
    _alter(cluster, _TOPIC, {topic: dict.fromkeys((_LEADERS, _FOLLOWERS)) for topic in topics})


def _replicas(topic: str, brokers: Mapping[TopicPartition, frozenset[int]]) -> str:
    return ",".join(
        sorted(f"{at.partition}:{each}" for at, some in brokers.items() if at.topic == topic for each in some)
    )


def _alter(cluster: AdminCluster, kind: int, changes: Mapping[str, Mapping[str, str | None]]) -> None:
    """Set the values, delete those that are None. A broker changes its own settings itself."""
    for name, values in changes.items():
        configs = [
            AlterableConfig(name=key, config_operation=_DELETE if value is None else _SET, value=value)
            for key, value in values.items()
        ]
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
        request = IncrementalAlterConfigsRequest(resources=[resource])
        answer = cluster.ask_broker(int(name), request) if kind == _BROKER else cluster.ask_controller(request)
        for result in answer.responses:
            check_code(result.error_code, result.error_message)
