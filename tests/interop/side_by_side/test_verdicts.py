"""Compares the verdicts of pybroker's authorizer with those of Apache Kafka 3.9.1, for each API and shape of ACLs."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from interop.side_by_side.allowed_differences import ANY, Allowed
from interop.side_by_side.differences import differences
from interop.side_by_side.verdicts import ADMINISTRATOR, record_verdicts
from pybroker.config.authorization import ACL_AUTHORIZER
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.zookeeper_tree import client_of, read_tree

SETTINGS = {
    "broker.id": "0",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "authorizer.class.name": ACL_AUTHORIZER,
}

TEXT = "some text"
ALLOWED = (
    Allowed("* OffsetFetch v1 *: topics", "Kafka leaves out the error, as if nothing was committed", [], ANY),
    Allowed("* DescribeUserScramCredentials v0 *: results", "Kafka adds a user without a name", ANY, []),
    Allowed("*rrorMessage", "a denial is put in words", None, TEXT),
    Allowed("* DescribeProducers v0 *: topics.0.partitions.0.errorMessage", "the code says all", TEXT, None),
    Allowed("* AlterPartitionReassignments v0 *: errorMessage", "the code says all", TEXT, ""),
)


def seed(connect: str) -> None:
    """The administrator's right to the cluster, which nobody could give through a broker."""
    principal, host, *_ = ADMINISTRATOR
    acl = {"principal": principal, "permissionType": "Allow", "operation": "All", "host": host}
    data = json.dumps({"version": 1, "acls": [acl]}).encode()
    with client_of(connect) as client:
        client.create("/kafka-acl/Cluster/kafka-cluster", data, makepath=True)


def acls_of(connect: str) -> dict[str, object]:
    tree = read_tree(connect)
    return {
        path: in_order(node.value)
        for path, node in tree.items()
        if path.startswith("/kafka-acl") and "changes" not in path
    }


def in_order(value: object) -> object:
    return sorted(json.dumps(acl, sort_keys=True) for acl in value["acls"]) if isinstance(value, dict) else value


@contextmanager
def brokers(directory: Path, *, is_open: bool) -> Iterator[tuple[KafkaProcess, BrokerProcess, list[str]]]:
    zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
    trees = [f"{zookeeper.connect}/{name}" for name in ("kafka", "pybroker")]
    with client_of(zookeeper.connect) as client:
        for name in ("kafka", "pybroker"):
            client.create(f"/{name}")
    if not is_open:
        for tree in trees:
            seed(tree)
    settings = {**SETTINGS, "allow.everyone.if.no.acl.found": str(is_open).lower()}
    kafka = KafkaProcess(directory / "kafka", zookeeper, {**settings, "zookeeper.connect": trees[0]})
    kafka.begin()
    try:
        with BrokerProcess(directory / "pybroker", {**settings, "zookeeper.connect": trees[1]}) as pybroker:
            kafka.wait_until_ready()
            yield kafka, pybroker, trees
    finally:
        kafka.kill()
        zookeeper.kill()


@pytest.mark.parametrize("is_open", [False, True])
def test_verdicts_are_those_of_kafka(is_open: bool, tmp_path: Path) -> None:
    with brokers(tmp_path, is_open=is_open) as (kafka, pybroker, trees), ThreadPoolExecutor() as pool:
        ask = partial(record_verdicts, is_open=is_open)
        of_kafka, of_pybroker = pool.map(ask, [kafka.port, pybroker.port])
        assert acls_of(trees[0]) == acls_of(trees[1])
    assert len(of_kafka) > 500
    found = differences(of_kafka, of_pybroker)
    assert [str(each) for each in found if not any(one.covers(each) for one in ALLOWED)] == []
    assert [one for one in ALLOWED if not any(one.covers(each) for each in found)] == []
