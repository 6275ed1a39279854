"""The nodes of Kafka's tree that pybroker uses: paths, contents and encoding (Kafka's ZkData).

Decoding raises `ZnodeDecodeError`. JSON is compared by value, never by text, because Kafka's order of keys varies.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import IntEnum
from uuid import UUID

from ...base.frozen import frozen
from ...base.kafka_names import SECURITY_PROTOCOLS
from ...base.topic_partition import TopicPartition
from ...base.uuid_text import uuid_from_text, uuid_text
from ...config.listeners import listener_address
from .leader_and_isr import LeaderAndIsr, LeaderRecoveryState, PartitionLeadership
from .replica_assignment import ReplicaAssignment
from .znode_json import JsonNode, ZnodeDecodeError, decode_text, encode_json

__all__ = [
    "BROKER_IDS_PATH",
    "BROKER_SEQUENCE_PATH",
    "CLUSTER_ID_PATH",
    "CONFIG_CHANGES_PATH",
    "CONTROLLER_EPOCH_PATH",
    "CONTROLLER_PATH",
    "DELETE_TOPICS_PATH",
    "FEATURE_PATH",
    "ISR_CHANGE_PATH",
    "LOG_DIR_EVENT_PATH",
    "PERSISTENT_PATHS",
    "PREFERRED_ELECTION_PATH",
    "PRODUCER_ID_BLOCK_PATH",
    "REASSIGN_PARTITIONS_PATH",
    "TOPICS_PATH",
    "BrokerInfo",
    "ConfigEntity",
    "ControllerInfo",
    "FeatureStatus",
    "Features",
    "ProducerIdBlock",
    "RegisteredEndpoint",
    "TopicInfo",
    "ZnodeDecodeError",
]

BROKER_IDS_PATH = "/brokers/ids"
BROKER_SEQUENCE_PATH = "/brokers/seqid"
TOPICS_PATH = "/brokers/topics"
CLUSTER_ID_PATH = "/cluster/id"
CONTROLLER_PATH = "/controller"
CONTROLLER_EPOCH_PATH = "/controller_epoch"
CONFIG_CHANGES_PATH = "/config/changes"
CONFIG_CHANGE_PREFIX = f"{CONFIG_CHANGES_PATH}/config_change_"
DELETE_TOPICS_PATH = "/admin/delete_topics"
REASSIGN_PARTITIONS_PATH = "/admin/reassign_partitions"
PREFERRED_ELECTION_PATH = "/admin/preferred_replica_election"
ISR_CHANGE_PATH = "/isr_change_notification"
LOG_DIR_EVENT_PATH = "/log_dir_event_notification"
LOG_DIR_EVENT_PREFIX = f"{LOG_DIR_EVENT_PATH}/log_dir_event_"
PRODUCER_ID_BLOCK_PATH = "/latest_producer_id_block"
FEATURE_PATH = "/feature"
CONSUMERS_PATH = "/consumers"

CONFIG_ENTITY_TYPES = ("topics", "clients", "users", "brokers", "ips")

PERSISTENT_PATHS = (
    CONSUMERS_PATH,
    BROKER_IDS_PATH,
    TOPICS_PATH,
    CONFIG_CHANGES_PATH,
    DELETE_TOPICS_PATH,
    BROKER_SEQUENCE_PATH,
    ISR_CHANGE_PATH,
    PRODUCER_ID_BLOCK_PATH,
    LOG_DIR_EVENT_PATH,
    *(f"/config/{entity_type}" for entity_type in CONFIG_ENTITY_TYPES),
)
"""The nodes that a broker creates at its start, with their parents (Kafka's PersistentZkPaths)."""


# -- /brokers/ids/N


@frozen
class RegisteredEndpoint:
    """An advertised address, and its listener."""

    listener_name: str
    security_protocol: str
    host: str
    port: int

    def __str__(self) -> str:
        return listener_address(self.listener_name, self.host, self.port)


_ENDPOINT = re.compile(r"(?P<listener>[^:/]+)://\[?(?P<host>[0-9a-zA-Z\-._%:]*)\]?:(?P<port>-?[0-9]+)")


@frozen
class BrokerInfo:
    """A live broker. ``host`` and ``port`` in the JSON are those of its first PLAINTEXT endpoint, for old clients.

    Version 5 (from IBP 2.7 on) is written, versions 1 to 5 are read.
    """

    broker_id: int
    endpoints: tuple[RegisteredEndpoint, ...]
    timestamp_ms: int
    rack: str | None = None
    jmx_port: int = -1
    features: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return broker_path(self.broker_id)

    def endpoint(self, listener_name: str) -> RegisteredEndpoint | None:
        return next((endpoint for endpoint in self.endpoints if endpoint.listener_name == listener_name), None)

    def encode(self) -> bytes:
        plaintext = next((e for e in self.endpoints if e.security_protocol == "PLAINTEXT"), None)
        fields: dict[str, object] = {
            "features": {name: dict(versions) for name, versions in self.features.items()},
            "listener_security_protocol_map": {e.listener_name: e.security_protocol for e in self.endpoints},
            "endpoints": [str(endpoint) for endpoint in self.endpoints],
            "jmx_port": self.jmx_port,
            "port": plaintext.port if plaintext else -1,
            "host": plaintext.host if plaintext else None,
            "version": 5,
            "timestamp": str(self.timestamp_ms),
        }
        if self.rack is not None:
            fields["rack"] = self.rack
        return encode_json(fields)

    @classmethod
    def decode(cls, broker_id: int, data: bytes) -> "BrokerInfo":
        node = JsonNode.parse(broker_path(broker_id), data)
        version = node.integer("version")
        if version < 1:
            raise ZnodeDecodeError(node.path, f"unsupported version {version}")
        if version == 1:
            endpoints: tuple[RegisteredEndpoint, ...] = (
                RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", node.text("host"), node.integer("port")),
            )
        else:
            endpoints = _decode_endpoints(node)
        if not endpoints:
            raise ZnodeDecodeError(node.path, "no endpoints")
        features = node.optional_child("features")
        return cls(
            broker_id=broker_id,
            endpoints=endpoints,
            timestamp_ms=node.number_in_text("timestamp") if node.has("timestamp") else -1,
            rack=node.text("rack") if node.has("rack") else None,
            jmx_port=node.integer("jmx_port"),
            features={
                name: {label: features.child(name).integer(label) for label in features.child(name).names()}
                for name in features.names()
            },
        )


def _decode_endpoints(node: JsonNode) -> tuple[RegisteredEndpoint, ...]:
    protocols = {name: name for name in SECURITY_PROTOCOLS}
    if node.has("listener_security_protocol_map"):
        protocol_map = node.child("listener_security_protocol_map")
        protocols = {name: protocol_map.text(name) for name in protocol_map.names()}
    endpoints = []
    for text in node.texts("endpoints"):
        match = _ENDPOINT.fullmatch(text)
        if match is None:
            raise ZnodeDecodeError(node.path, f"{text!r} is no endpoint")
        listener = match["listener"]
        if listener not in protocols:
            raise ZnodeDecodeError(node.path, f"listener {listener} has no security protocol")
        if protocols[listener] not in SECURITY_PROTOCOLS:
            raise ZnodeDecodeError(node.path, f"{protocols[listener]!r} is no security protocol")
        endpoints.append(RegisteredEndpoint(listener, protocols[listener], match["host"], int(match["port"])))
    return tuple(endpoints)


def broker_path(broker_id: int) -> str:
    return f"{BROKER_IDS_PATH}/{broker_id}"


# -- /brokers/topics/T and below


@frozen
class TopicInfo:
    """A topic's assignment and id; the id is None for a topic created before IBP 2.8 that has none yet."""

    topic: str
    topic_id: UUID | None
    partitions: Mapping[int, ReplicaAssignment]

    @property
    def path(self) -> str:
        return topic_path(self.topic)

    def encode(self) -> bytes:
        ordered = sorted(self.partitions.items())
        fields: dict[str, object] = {
            "partitions": {str(index): list(assignment.replicas) for index, assignment in ordered},
            "adding_replicas": {str(index): list(a.adding) for index, a in ordered if a.adding},
            "removing_replicas": {str(index): list(a.removing) for index, a in ordered if a.removing},
            "version": 3,
        }
        if self.topic_id is not None:
            fields["topic_id"] = uuid_text(self.topic_id)
        return encode_json(fields)

    @classmethod
    def decode(cls, topic: str, data: bytes) -> "TopicInfo":
        node = JsonNode.parse(topic_path(topic), data)
        partitions = node.optional_child("partitions")
        adding = node.optional_child("adding_replicas")
        removing = node.optional_child("removing_replicas")
        assignments: dict[int, ReplicaAssignment] = {}
        for name in partitions.names():
            if not (name.isascii() and name.isdigit()):
                raise ZnodeDecodeError(node.path, f"{name!r} is no partition")
            assignments[int(name)] = ReplicaAssignment(
                partitions.integers(name),
                adding.integers(name) if adding.has(name) else (),
                removing.integers(name) if removing.has(name) else (),
            )
        topic_id = None
        if node.has("topic_id"):
            try:
                topic_id = uuid_from_text(node.text("topic_id"))
            except ValueError as error:
                raise ZnodeDecodeError(node.path, f"{node.text('topic_id')!r} is no topic id") from error
        return cls(topic, topic_id, dict(sorted(assignments.items())))


def topic_path(topic: str) -> str:
    return f"{TOPICS_PATH}/{topic}"


def partitions_path(topic: str) -> str:
    return f"{TOPICS_PATH}/{topic}/partitions"


def partition_path(partition: TopicPartition) -> str:
    return f"{TOPICS_PATH}/{partition.topic}/partitions/{partition.partition}"


def partition_state_path(partition: TopicPartition) -> str:
    return f"{partition_path(partition)}/state"


def encode_partition_state(leadership: PartitionLeadership) -> bytes:
    """The data of a state node. The partition epoch is the version of the node and not in the data."""
    state = leadership.leader_and_isr
    fields: dict[str, object] = {
        "controller_epoch": leadership.controller_epoch,
        "leader": state.leader,
        "version": 1,
        "leader_epoch": state.leader_epoch,
        "isr": list(state.isr),
    }
    if state.leader_recovery_state is not LeaderRecoveryState.RECOVERED:
        fields["leader_recovery_state"] = int(state.leader_recovery_state)
    return encode_json(fields)


def decode_partition_state(partition: TopicPartition, data: bytes, version: int) -> PartitionLeadership:
    node = JsonNode.parse(partition_state_path(partition), data)
    recovery = node.integer("leader_recovery_state") if node.has("leader_recovery_state") else 0
    if recovery not in (0, 1):
        raise ZnodeDecodeError(node.path, f"leader_recovery_state must be 0 or 1, is {recovery}")
    state = LeaderAndIsr(
        leader=node.integer("leader"),
        isr=node.integers("isr"),
        leader_epoch=node.integer("leader_epoch"),
        partition_epoch=version,
        leader_recovery_state=LeaderRecoveryState(recovery),
    )
    return PartitionLeadership(state, node.integer("controller_epoch"))


# -- /controller, /controller_epoch


@frozen
class ControllerInfo:
    """``kraft_controller_epoch``: -1 while the controller is a broker; None if written before Kafka 3.4."""

    broker_id: int
    timestamp_ms: int
    kraft_controller_epoch: int | None = -1

    def encode(self) -> bytes:
        fields: dict[str, object] = {
            "version": 2,
            "brokerid": self.broker_id,
            "timestamp": str(self.timestamp_ms),
            "kraftControllerEpoch": self.kraft_controller_epoch,
        }
        if self.kraft_controller_epoch is None:
            fields["version"] = 1
            del fields["kraftControllerEpoch"]
        return encode_json(fields)

    @classmethod
    def decode(cls, data: bytes) -> "ControllerInfo":
        node = JsonNode.parse(CONTROLLER_PATH, data)
        epoch = node.integer("kraftControllerEpoch") if node.has("kraftControllerEpoch") else None
        timestamp_ms = node.number_in_text("timestamp") if node.has("timestamp") else -1
        return cls(node.integer("brokerid"), timestamp_ms, epoch)


def encode_number(value: int) -> bytes:
    """The data of /controller_epoch, and of offsets under /consumers."""
    return str(value).encode()


def decode_number(path: str, data: bytes) -> int:
    text = decode_text(path, data)
    try:
        return int(text)
    except ValueError as error:
        raise ZnodeDecodeError(path, f"{text[:200]!r} is no number") from error


# -- /config


@frozen
class ConfigEntity:
    """The settings of one topic, broker, user, client id or address: names and values as text."""

    entity_type: str
    name: str
    settings: Mapping[str, str]

    @property
    def path(self) -> str:
        return config_path(self.entity_type, self.name)

    def encode(self) -> bytes:
        return encode_json({"version": 1, "config": dict(self.settings)})

    @classmethod
    def decode(cls, entity_type: str, name: str, data: bytes) -> "ConfigEntity":
        if not data:
            return cls(entity_type, name, {})
        node = JsonNode.parse(config_path(entity_type, name), data).optional_child("config")
        return cls(entity_type, name, {setting: node.text(setting) for setting in node.names()})


def config_path(entity_type: str, name: str) -> str:
    return f"/config/{entity_type}/{name}"


def config_change_path(notification: str) -> str:
    return f"{CONFIG_CHANGES_PATH}/{notification}"


def config_change_number(notification: str) -> int:
    """The number of a notification; numbers rise. Raises ZnodeDecodeError."""
    digits = config_change_path(notification).removeprefix(CONFIG_CHANGE_PREFIX)
    if not digits.isdecimal():
        raise ZnodeDecodeError(config_change_path(notification), "this is not the name of a notification")
    return int(digits)


def encode_config_change(entity_path: str) -> bytes:
    """``entity_path`` without ``/config/``: ``topics/orders``."""
    return encode_json({"version": 2, "entity_path": entity_path})


def decode_config_change(path: str, data: bytes) -> str:
    """The entity path; version 1 has separate fields for type and entity."""
    node = JsonNode.parse(path, data)
    if node.integer("version") == 1:
        return f"{node.text('entity_type')}/{node.text('entity_name')}"
    return node.text("entity_path")


# -- cluster, features, producer ids


def encode_cluster_id(cluster_id: str) -> bytes:
    return encode_json({"version": "1", "id": cluster_id})


def decode_cluster_id(data: bytes) -> str:
    return JsonNode.parse(CLUSTER_ID_PATH, data).text("id")


class FeatureStatus(IntEnum):
    DISABLED = 0
    ENABLED = 1


@frozen
class Features:
    """The finalized features (KIP-584); the version of the node is their epoch. Version 1 of the JSON has a range."""

    levels: Mapping[str, int] = field(default_factory=dict)
    status: FeatureStatus = FeatureStatus.ENABLED
    version: int = 2

    def encode(self) -> bytes:
        labels = ("max_version_level", "min_version_level")[: 2 if self.version == 1 else 1]
        features = {name: dict.fromkeys(labels, level) for name, level in self.levels.items()}
        return encode_json({"features": features, "version": self.version, "status": int(self.status)})

    @classmethod
    def decode(cls, data: bytes) -> "Features":
        node = JsonNode.parse(FEATURE_PATH, data)
        version = node.integer("version")
        if version not in (1, 2):
            raise ZnodeDecodeError(FEATURE_PATH, f"unsupported version {version}")
        status = node.integer("status")
        if status not in (0, 1):
            raise ZnodeDecodeError(FEATURE_PATH, f"status must be 0 or 1, is {status}")
        features = node.child("features")
        levels = {name: features.child(name).integer("max_version_level") for name in features.names()}
        return cls(levels, FeatureStatus(status), version)


@frozen
class ProducerIdBlock:
    """Producer ids ``first`` to ``last``, inclusive, that ``broker_id`` may give out."""

    broker_id: int
    first: int
    last: int

    def encode(self) -> bytes:
        return encode_json(
            {"version": 1, "broker": self.broker_id, "block_start": str(self.first), "block_end": str(self.last)}
        )

    @classmethod
    def decode(cls, data: bytes) -> "ProducerIdBlock":
        node = JsonNode.parse(PRODUCER_ID_BLOCK_PATH, data)
        return cls(node.integer("broker"), node.number_in_text("block_start"), node.number_in_text("block_end"))


# -- /admin, notifications, /consumers


def delete_topic_path(topic: str) -> str:
    return f"{DELETE_TOPICS_PATH}/{topic}"


def encode_reassignments(targets: Mapping[TopicPartition, Iterable[int]]) -> bytes:
    """The data of /admin/reassign_partitions: the requested replicas of each partition."""
    partitions = [{**_partition_fields(tp), "replicas": list(replicas)} for tp, replicas in targets.items()]
    return encode_json({"version": 1, "partitions": partitions})


def decode_reassignments(data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
    node = JsonNode.parse(REASSIGN_PARTITIONS_PATH, data)
    return {_decode_partition(item): item.integers("replicas") for item in node.children("partitions")}


def decode_partition_list(path: str, data: bytes) -> list[TopicPartition]:
    return [_decode_partition(item) for item in JsonNode.parse(path, data).children("partitions")]


def encode_log_dir_event(broker_id: int) -> bytes:
    """The notification that a log directory of this broker failed (event 1 is the only one)."""
    return encode_json({"version": 1, "broker": broker_id, "event": 1})


def decode_log_dir_event(path: str, data: bytes) -> int:
    return JsonNode.parse(path, data).integer("broker")


def consumer_offset_path(group_id: str, partition: TopicPartition) -> str:
    """The node in which OffsetCommit v0 stores an offset, written by `encode_number`."""
    return f"{consumer_topics_path(group_id)}/{partition.topic}/{partition.partition}"


def consumer_topics_path(group_id: str) -> str:
    """The parent node of the topics for which OffsetCommit v0 stores offsets of a group."""
    return f"{CONSUMERS_PATH}/{group_id}/offsets"


def _partition_fields(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.partition}


def _decode_partition(node: JsonNode) -> TopicPartition:
    return TopicPartition(node.text("topic"), node.integer("partition"))
