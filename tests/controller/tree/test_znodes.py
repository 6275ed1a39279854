"""Kafka's znodes: nodes of real brokers are decoded, and encoded again as the same JSON."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.tree import znodes
from pybroker.controller.tree.leader_and_isr import LeaderAndIsr, LeaderRecoveryState, PartitionLeadership
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.znodes import (
    BrokerInfo,
    ConfigEntity,
    ControllerInfo,
    Features,
    ProducerIdBlock,
    RegisteredEndpoint,
    TopicInfo,
    ZnodeDecodeError,
)
from support.in_process.partition_list_node import encode_partition_list

LOG_DIRS = Path(__file__).parent.parent.parent / "reference" / "logdirs"


def recoded(path: str, version: int, data: bytes) -> bytes | None:
    """The node's data decoded and encoded again; None for a node of an unknown kind."""
    match path.strip("/").split("/"):
        case ["brokers", "ids", broker_id]:
            return BrokerInfo.decode(int(broker_id), data).encode()
        case ["brokers", "topics", topic]:
            return TopicInfo.decode(topic, data).encode()
        case ["brokers", "topics", topic, "partitions", index, "state"]:
            partition = TopicPartition(topic, int(index))
            return znodes.encode_partition_state(znodes.decode_partition_state(partition, data, version))
        case ["cluster", "id"]:
            return znodes.encode_cluster_id(znodes.decode_cluster_id(data))
        case ["config", entity_type, name]:
            return ConfigEntity.decode(entity_type, name, data).encode()
        case ["controller"]:
            return ControllerInfo.decode(data).encode()
        case ["controller_epoch"]:
            return znodes.encode_number(znodes.decode_number(path, data))
        case ["feature"]:
            return Features.decode(data).encode()
        case ["latest_producer_id_block"]:
            return ProducerIdBlock.decode(data).encode()
        case _:
            return None


def golden_nodes() -> Iterator[tuple[str, int, bytes]]:
    for file in sorted(LOG_DIRS.glob("*/znodes.jsonl")):
        for line in file.read_text().splitlines():
            node = json.loads(line)
            if node["data"]:
                yield node["path"], node["version"], node["data"].encode()


@pytest.mark.parametrize(("path", "version", "data"), list(golden_nodes()), ids=lambda value: str(value)[:60])
def test_znodes_of_kafka_are_encoded_as_they_were_decoded(path: str, version: int, data: bytes) -> None:
    again = recoded(path, version, data)
    assert again is not None, f"{path} is not known"
    assert json.loads(again) == json.loads(data)


def test_reference_znodes_are_not_empty() -> None:
    assert len(list(golden_nodes())) > 40


def test_persistent_paths_are_those_of_a_kafka_cluster() -> None:
    lines = (LOG_DIRS / "kafka-3.9" / "znodes.jsonl").read_text().splitlines()
    present = {json.loads(line)["path"] for line in lines}
    assert set(znodes.PERSISTENT_PATHS) <= present


def test_broker_keeps_rack_features_and_ipv6() -> None:
    info = BrokerInfo(
        broker_id=3,
        endpoints=(
            RegisteredEndpoint("REPLICATION", "SSL", "::1", 9093),
            RegisteredEndpoint("CLIENT", "PLAINTEXT", "broker-3.example", 9092),
        ),
        timestamp_ms=1_700_000_000_000,
        rack="dc1",
        features={"f": {"min_version": 1, "max_version": 3}},
    )
    fields = json.loads(info.encode())
    assert fields["endpoints"] == ["REPLICATION://[::1]:9093", "CLIENT://broker-3.example:9092"]
    assert (fields["host"], fields["port"]) == ("broker-3.example", 9092)
    assert BrokerInfo.decode(3, info.encode()) == info


def test_broker_without_a_plaintext_listener_has_no_host_for_old_clients() -> None:
    info = BrokerInfo(1, (RegisteredEndpoint("S", "SSL", "h", 1),), 0)
    fields = json.loads(info.encode())
    assert (fields["host"], fields["port"]) == (None, -1)


def test_broker_nodes_of_old_versions_are_decoded() -> None:
    first = BrokerInfo.decode(1, b'{"version":1,"host":"h","port":9092,"jmx_port":9999,"timestamp":"2233345666"}')
    assert first.endpoints == (RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "h", 9092),)
    third = BrokerInfo.decode(
        1,
        b'{"version":3,"host":"h","port":9092,"jmx_port":9999,"timestamp":"2233345666","rack":"r",'
        b'"endpoints":["PLAINTEXT://h:9092","SSL://h:9093"]}',
    )
    assert third.endpoints[1] == RegisteredEndpoint("SSL", "SSL", "h", 9093)
    assert third.rack == "r"


def test_topic_nodes_with_a_reassignment_or_without_a_topic_id_are_decoded() -> None:
    partitions = {0: ReplicaAssignment((1, 2, 3), adding=(3,), removing=(1,)), 10: ReplicaAssignment((1, 2))}
    info = TopicInfo("t", UUID(int=5 << 64), partitions)
    fields = json.loads(info.encode())
    assert fields["adding_replicas"] == {"0": [3]}
    assert TopicInfo.decode("t", info.encode()) == info
    old = TopicInfo.decode("t", b'{"version":1,"partitions":{"0":[1]}}')
    assert old == TopicInfo("t", None, {0: ReplicaAssignment((1,))})
    assert "topic_id" not in json.loads(old.encode())


def test_recovering_leader_is_written_and_partition_epoch_is_the_version() -> None:
    state = LeaderAndIsr(2, (2,), 7, 4, LeaderRecoveryState.RECOVERING)
    data = znodes.encode_partition_state(PartitionLeadership(state, 3))
    assert json.loads(data)["leader_recovery_state"] == 1
    assert znodes.decode_partition_state(TopicPartition("t", 0), data, 4) == PartitionLeadership(state, 3)


def test_controller_node_of_an_older_kafka_is_decoded() -> None:
    old = ControllerInfo.decode(b'{"version":1,"brokerid":4,"timestamp":"17"}')
    assert old == ControllerInfo(4, 17, None)
    assert json.loads(old.encode())["version"] == 1


def test_admin_nodes_and_notifications_are_encoded_and_decoded() -> None:
    targets = {TopicPartition("t", 0): (1, 2), TopicPartition("u", 3): (2,)}
    assert json.loads(znodes.encode_reassignments(targets)) == {
        "version": 1,
        "partitions": [
            {"topic": "t", "partition": 0, "replicas": [1, 2]},
            {"topic": "u", "partition": 3, "replicas": [2]},
        ],
    }
    assert znodes.decode_reassignments(znodes.encode_reassignments(targets)) == targets
    partitions = [TopicPartition("t", 1), TopicPartition("u", 0)]
    path = znodes.PREFERRED_ELECTION_PATH
    assert znodes.decode_partition_list(path, encode_partition_list(partitions)) == partitions
    change = znodes.encode_config_change("topics/t")
    assert json.loads(change) == {"version": 2, "entity_path": "topics/t"}
    assert znodes.decode_config_change("/p", change) == "topics/t"
    assert znodes.decode_config_change("/p", b'{"version":1,"entity_type":"topics","entity_name":"t"}') == "topics/t"
    event = znodes.encode_log_dir_event(5)
    assert json.loads(event) == {"version": 1, "broker": 5, "event": 1}
    assert znodes.decode_log_dir_event("/p", event) == 5
    assert znodes.consumer_offset_path("g", TopicPartition("t", 2)) == "/consumers/g/offsets/t/2"


def test_config_without_data_or_config_is_empty() -> None:
    assert ConfigEntity.decode("topics", "t", b"").settings == {}
    assert ConfigEntity.decode("topics", "t", b'{"version":1}').settings == {}


def test_finalized_features_of_both_versions_are_decoded() -> None:
    levels = {"f": 3}
    assert json.loads(Features(levels).encode())["features"] == {"f": {"max_version_level": 3}}
    old = Features(levels, version=1)
    assert json.loads(old.encode())["features"] == {"f": {"max_version_level": 3, "min_version_level": 3}}
    assert Features.decode(old.encode()) == old


PARTITION = TopicPartition("t", 0)
DECODERS: dict[str, Callable[[bytes], object]] = {
    "broker": lambda data: BrokerInfo.decode(1, data),
    "topic": lambda data: TopicInfo.decode("t", data),
    "state": lambda data: znodes.decode_partition_state(PARTITION, data, 0),
    "controller": ControllerInfo.decode,
    "epoch": lambda data: znodes.decode_number("/controller_epoch", data),
    "config": lambda data: ConfigEntity.decode("topics", "t", data),
    "cluster id": znodes.decode_cluster_id,
    "features": Features.decode,
    "producer ids": ProducerIdBlock.decode,
    "reassignment": znodes.decode_reassignments,
    "partition list": lambda data: znodes.decode_partition_list("/p", data),
    "config change": lambda data: znodes.decode_config_change("/p", data),
    "log dir event": lambda data: znodes.decode_log_dir_event("/p", data),
}
GARBAGE = [
    b"\xff\xfe",
    b"not json",
    b"[]",
    b'"text"',
    b'{"version":"x","partitions":[7],"config":[],"features":1,"topic_id":7}',
    b'{"version":2,"partitions":{"0":"x"},"config":{"a":1},"features":{},"status":9}',
    b"[" * 100_000,
]


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize("data", GARBAGE, ids=lambda data: repr(data[:20]))
def test_garbage_raises_one_typed_error(name: str, data: bytes) -> None:
    with pytest.raises(ZnodeDecodeError) as caught:
        DECODERS[name](data)
    assert caught.value.path.startswith("/")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("broker", b'{"version":0,"jmx_port":1}'),
        ("broker", b'{"version":5,"jmx_port":1,"endpoints":["PLAINTEXT:/h:1"]}'),
        ("broker", b'{"version":5,"jmx_port":1,"endpoints":["OTHER://h:1"]}'),
        ("broker", b'{"version":5,"jmx_port":1,"endpoints":[]}'),
        (
            "broker",
            b'{"version":5,"jmx_port":1,"endpoints":["X://h:1"],"listener_security_protocol_map":{"X":"ROT13"}}',
        ),
        ("topic", b'{"version":3,"partitions":{"x":[1]}}'),
        ("topic", b'{"version":3,"partitions":{},"topic_id":"short"}'),
        ("topic", '{"version":3,"partitions":{},"topic_id":"ü"}'.encode()),
        ("state", b'{"leader":1,"leader_epoch":0,"isr":[1],"controller_epoch":1,"leader_recovery_state":2}'),
        ("state", b'{"leader":true,"leader_epoch":0,"isr":[1],"controller_epoch":1}'),
        ("features", b'{"version":3,"status":1,"features":{}}'),
        ("producer ids", b'{"broker":1,"block_start":"x","block_end":"9"}'),
    ],
)
def test_znodes_with_impossible_values_are_refused(name: str, data: bytes) -> None:
    with pytest.raises(ZnodeDecodeError):
        DECODERS[name](data)
