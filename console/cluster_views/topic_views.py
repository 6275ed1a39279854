"""Topics and partitions, from Kafka's protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from ...base.topic_partition import TopicPartition
from ...base.uuid_text import uuid_text
from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.codec import wire
from ...protocol.errors import KafkaError
from ...protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from ...protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from ..records.places import Bounds, bounds_of
from .log_sizes import BrokerLogs, logs_of_brokers
from .setting_views import TOPIC, ListedSettings, settings_of

_LOCAL_FIELDS = ("messages_in_per_s", "bytes_in_per_s", "bytes_out_per_s", "max_lag_seconds", "max_lag")
FILLED_BY_V1 = (
    "under_min_isr_partitions",
    "size_bytes",
    "size_on_disk_bytes",
    "records",
    "cleanup_policy",
    "retention_ms",
    "retention_bytes",
    *_LOCAL_FIELDS,
)
"""The fields of a row that may be null: see `topic_row`."""
_MAX_PRODUCERS = 1_000
_PARTITION_COLUMNS = ("topic", "partition", "leader", "leader_epoch", "replicas", "isr", "offline_replicas")


async def topic_detail(cluster: AsyncCluster, name: str) -> dict[str, Any]:
    """One topic. Raises KafkaError when it is missing or may not be described."""
    topic = await cluster.topic(name, is_fresh=True)
    numbers = [partition.partition_index for partition in topic.partitions]
    brokers = [broker.node_id for broker in (await cluster.metadata([])).brokers]
    bounds, settings, logs, producers = await asyncio.gather(
        _bounds(cluster, name, numbers),
        _settings(cluster, name),
        logs_of_brokers(cluster, brokers, name, len(numbers)),
        _producers(cluster, topic),
    )
    shown = ListedSettings.of({each["name"]: each["value"] for each in settings}) if settings else None
    row = topic_row(topic, shown, size_of(topic, logs))
    row["records"] = sum(bound.end - bound.start for bound in bounds.values()) if bounds else None
    return {
        "topic": row,
        "partitions": [_partition(name, each, bounds, logs) for each in sorted(topic.partitions, key=_index)],
        "settings": settings,
        "consumers": [],
        "producers": producers[:_MAX_PRODUCERS],
        "producers_total": len(producers),
        "history": None,
    }


def partition_columns(metadata: MetadataResponse, state: str | None) -> list[list[Any]]:
    """The matrix of partitions, sorted; `state` selects some."""
    rows = []
    for topic in metadata.topics:
        if topic.error_code:
            continue
        for each in topic.partitions:
            if state is None or _has_state(each, state):
                leader = each.leader_id if each.leader_id >= 0 else None
                place = [topic.name, each.partition_index, leader, each.leader_epoch]
                rows.append([*place, each.replica_nodes, each.isr_nodes, each.offline_replicas])
    return sorted(rows, key=lambda row: (row[0], row[1]))


def partition_matrix(rows: list[list[Any]], total: int, limit: int, offset: int) -> dict[str, Any]:
    """A part of the rows with their columns."""
    return {
        "total": total,
        "matched": len(rows),
        "columns": list(_PARTITION_COLUMNS),
        "rows": rows[offset : offset + limit],
    }


def problems_of(metadata: MetadataResponse, settings: Mapping[str, ListedSettings]) -> dict[str, int]:
    """How many partitions of the cluster have each problem. A topic without settings is content with one replica."""
    found = {"offline": 0, "under_replicated": 0, "under_min_isr": 0, "partitions": 0}
    for topic in metadata.topics:
        least = settings.get(str(topic.name), ListedSettings()).min_isr
        for each in topic.partitions:
            found["partitions"] += 1
            found["offline"] += each.leader_id < 0
            found["under_replicated"] += len(each.isr_nodes) < len(each.replica_nodes)
            found["under_min_isr"] += len(each.isr_nodes) < least
    return found


def topic_row(topic: MetadataResponseTopic, settings: ListedSettings | None, size: int | None) -> dict[str, Any]:
    """A row of a list. `size`: the bytes of the leaders' logs. None: not known."""
    known = ListedSettings() if settings is None else settings
    factor = offline = behind = under_least = 0
    for each in topic.partitions:
        replicas, in_sync = len(each.replica_nodes), len(each.isr_nodes)
        factor = max(factor, replicas)
        offline += each.leader_id < 0
        behind += in_sync < replicas
        under_least += in_sync < known.min_isr
    topic_id = None if topic.topic_id == wire.NULL_UUID else uuid_text(topic.topic_id)
    return {
        "topic": topic.name,
        "topic_id": topic_id,
        "is_internal": topic.is_internal,
        "partitions": len(topic.partitions),
        "replication_factor": factor,
        "offline_partitions": offline,
        "under_replicated_partitions": behind,
        "under_min_isr_partitions": None if settings is None else under_least,
        "leaders_here": len(topic.partitions) - offline,
        "size_bytes": size,
        "size_on_disk_bytes": None,
        "records": None,
        "cleanup_policy": known.cleanup_policy,
        "retention_ms": known.retention_ms,
        "retention_bytes": known.retention_bytes,
        **dict.fromkeys(_LOCAL_FIELDS),
    }


def size_of(topic: MetadataResponseTopic, logs: Mapping[int, BrokerLogs]) -> int | None:
    """The size of the leaders' logs, as far as it is known; None if it is not known at all."""
    name = str(topic.name)
    known = [
        size
        for each in topic.partitions
        if (here := logs.get(each.leader_id)) is not None
        and (size := here.sizes.get(TopicPartition(name, each.partition_index))) is not None
    ]
    return sum(known) if known else None


def _partition(topic: str, found: Any, bounds: Mapping[int, Bounds], logs: Mapping[int, BrokerLogs]) -> dict[str, Any]:
    number, leader = found.partition_index, found.leader_id if found.leader_id >= 0 else None
    at, bound = TopicPartition(topic, number), bounds.get(number)
    here = logs.get(leader) if leader is not None else None
    followers = [
        {
            "broker_id": replica,
            "lag": logs[replica].lags.get(at),
            "caught_up_ms_ago": None,
            "is_in_sync": replica in found.isr_nodes,
        }
        for replica in found.replica_nodes
        if replica != leader and replica in logs
    ]
    return {
        "partition": number,
        "leader": leader,
        "leader_epoch": found.leader_epoch,
        "replicas": found.replica_nodes,
        "isr": found.isr_nodes,
        "offline_replicas": found.offline_replicas,
        "adding_replicas": None,
        "removing_replicas": None,
        "is_led_here": leader is not None,
        "is_local": leader is not None,
        "start_offset": None if bound is None else bound.start,
        "end_offset": None if bound is None else bound.end,
        "log_end_offset": None,
        "last_stable_offset": None,
        "size_bytes": None if here is None else here.sizes.get(at),
        "segments": None,
        "oldest_ms": None,
        "log_directory": None if here is None else here.places.get(at),
        "followers": followers,
    }


async def _bounds(cluster: AsyncCluster, name: str, numbers: list[int]) -> dict[int, Bounds]:
    try:
        return await bounds_of(cluster, name, numbers)
    except (KafkaError, OSError):
        return {}


async def _settings(cluster: AsyncCluster, name: str) -> list[dict[str, Any]]:
    """Empty if the principal may not see the settings."""
    try:
        return await settings_of(cluster, TOPIC, name)
    except (KafkaError, OSError):
        return []


async def _producers(cluster: AsyncCluster, topic: MetadataResponseTopic) -> list[dict[str, Any]]:
    """Idempotent producers, those with open transactions first. Kafka tells readers of the topic from 2.8 on."""
    name = str(topic.name)
    led: dict[int, list[int]] = {}
    for each in topic.partitions:
        if each.leader_id >= 0:
            led.setdefault(each.leader_id, []).append(each.partition_index)
    rows = []
    for leader, numbers in led.items():
        request = DescribeProducersRequest(topics=[TopicRequest(name=name, partition_indexes=numbers)])
        try:
            answer = await cluster.ask_broker(leader, request)
        except Exception:  # an old broker, or none: producers are an extra
            continue
        rows += [
            {
                "partition": partition.partition_index,
                "producer_id": each.producer_id,
                "producer_epoch": each.producer_epoch,
                "last_sequence": each.last_sequence,
                "last_timestamp_ms": each.last_timestamp,
                "open_transaction_start_offset": each.current_txn_start_offset
                if each.current_txn_start_offset >= 0
                else None,
                "coordinator_epoch": each.coordinator_epoch,
            }
            for found in answer.topics
            for partition in found.partitions
            for each in partition.active_producers
        ]
    return sorted(rows, key=lambda row: (row["open_transaction_start_offset"] is None, row["partition"]))


def _has_state(partition: Any, state: str) -> bool:
    if state == "offline":
        return bool(partition.leader_id < 0)
    if state == "not_preferred":
        return bool(partition.replica_nodes and partition.leader_id != partition.replica_nodes[0])
    return len(partition.isr_nodes) < len(partition.replica_nodes)


def _index(partition: Any) -> int:
    return int(partition.partition_index)
