"""Compares the verdicts of pybroker's authorizer with those of Apache Kafka 3.9.1, for each API and shape of ACLs."""

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from interop.side_by_side.allowed_differences import ANY, Allowed
from interop.side_by_side.conversation import Step
from interop.side_by_side.differences import differences
from interop.side_by_side.mixed_rights import record_mixed_rights
from interop.side_by_side.verdicts import ADMINISTRATOR, OF_OPEN_BROKERS, OF_USERS, USER, record_verdicts
from pybroker.config.authorization import ACL_AUTHORIZER
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port
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
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
        f"org.apache.kafka.common.security.plain.PlainLoginModule required user_{USER[0]}={USER[1]};"
    ),
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


class Side:
    """A broker of one of the two kinds, with a listener for the administrator and one where users log in."""

    def __init__(self, name: str, zookeeper: ZooKeeperProcess, directory: Path, *, is_open: bool) -> None:
        self.tree = f"{zookeeper.connect}/{name}"
        self.port, self.login_port = free_port(), free_port()
        with client_of(zookeeper.connect) as client:
            client.create(f"/{name}")
        if not is_open:
            seed(self.tree)
        settings = {
            **SETTINGS,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},SASL_PLAINTEXT://127.0.0.1:{self.login_port}",
            "allow.everyone.if.no.acl.found": str(is_open).lower(),
            "zookeeper.connect": self.tree,
        }
        self.broker: KafkaProcess | BrokerProcess
        if name == "kafka":
            self.broker = KafkaProcess(directory / name, zookeeper, settings)
        else:
            self.broker = BrokerProcess(directory / name, {**settings, "pybroker.sasl.plain.without.tls": "true"})
        self.broker.begin()


@contextmanager
def sides(directory: Path, *, is_open: bool) -> Iterator[list[Side]]:
    with ExitStack() as stack:
        zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        stack.callback(zookeeper.kill)
        both = []
        for name in ("kafka", "pybroker"):
            both.append(Side(name, zookeeper, directory, is_open=is_open))
            stack.callback(both[-1].broker.kill)
        for side in both:
            side.broker.wait_until_ready()
        yield both


@pytest.mark.parametrize(
    ("is_open", "logs_in", "shapes"),
    [
        pytest.param(False, False, (), id="closed"),
        pytest.param(True, False, OF_OPEN_BROKERS, id="open"),
        pytest.param(True, False, (), id="open and all shapes", marks=pytest.mark.long),
        pytest.param(False, True, OF_USERS, id="a user"),
        pytest.param(False, True, (), id="a user and all shapes", marks=pytest.mark.long),
    ],
)
def test_verdicts_are_those_of_kafka(is_open: bool, logs_in: bool, shapes: Sequence[str], tmp_path: Path) -> None:
    with sides(tmp_path, is_open=is_open) as (kafka, pybroker), ThreadPoolExecutor() as pool:

        def ask(side: Side) -> list[Step]:
            return record_verdicts(side.port, side.login_port if logs_in else None, is_open=is_open, only=shapes)

        of_kafka, of_pybroker = pool.map(ask, [kafka, pybroker])
        assert acls_of(kafka.tree) == acls_of(pybroker.tree)
    assert len(of_kafka) > (200 if shapes else 500)
    found = differences(of_kafka, of_pybroker)
    assert [str(each) for each in found if not any(one.covers(each) for one in ALLOWED)] == []
    assert [one for one in ALLOWED if not any(one.covers(each) for each in found)] == []


ALLOWED_OF_MIXED = (
    Allowed("* OffsetFetch v1 *: topics", "Kafka leaves out the error, as if nothing was committed", [], ANY),
    Allowed("* DescribeUserScramCredentials v0 *: results", "Kafka adds users without a name", ANY, []),
)


@pytest.mark.long
def test_requests_that_name_several_resources_are_answered_as_by_kafka(tmp_path: Path) -> None:
    with sides(tmp_path, is_open=False) as (kafka, pybroker), ThreadPoolExecutor() as pool:
        of_kafka, of_pybroker = pool.map(
            lambda side: record_mixed_rights(side.port, side.login_port), [kafka, pybroker]
        )
    assert len(of_kafka) > 1000
    found = differences(of_kafka, of_pybroker)
    assert [str(each) for each in found if not any(one.covers(each) for one in ALLOWED_OF_MIXED)] == []
    assert [one for one in ALLOWED_OF_MIXED if not any(one.covers(each) for each in found)] == []
