"""Kafka's kafka-acls changes the ACLs of a running pybroker, by the broker and straight in ZooKeeper."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.kafka_tools import run_tool
from support.clients.wire_client import WireClient
from support.in_process.authorized_broker import row_of
from support.load.request_of_each_api import plain_request
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import ZooKeeperProcess
from support.time.patience import await_answer, await_that

SETTINGS = {"authorizer.class.name": ACL_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
DENY = ["--topic", "records", "--deny-principal", "User:ANONYMOUS", "--operation", "Write"]


def produce(client: WireClient) -> int:
    row = row_of(ApiKey.PRODUCE, 7)
    response = client.ask(plain_request(ApiKey.PRODUCE, **row.fields), row.version)
    return int(response.responses[0].partition_responses[0].error_code)


def create_topic(client: WireClient) -> None:
    topic = {"name": "records", "num_partitions": 1, "replication_factor": 1}
    client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=[topic], timeout_ms=60_000), 5)
    await_answer(lambda: produce(client), lambda code: code == ErrorCode.NONE, "the topic has a leader")


def acls(*where: str) -> str:
    return run_tool("kafka.admin.AclCommand", *where)


def test_acls_created_and_removed_through_the_broker_are_obeyed_at_once(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, SETTINGS) as broker, WireClient(broker.bootstrap_servers) as client:
        by_broker = ["--bootstrap-server", broker.bootstrap_servers]
        create_topic(client)
        acls(*by_broker, "--add", *DENY)
        assert produce(client) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        line = "Principal = User:ANONYMOUS is Denied Operation = Write from host = 127.0.0.1"
        await_that(lambda: line in broker.output, "the authorizer's log has the denial")
        assert "(principal=User:ANONYMOUS, host=*, operation=WRITE, permissionType=DENY)" in acls(*by_broker, "--list")
        acls(*by_broker, "--remove", "--force", *DENY)
        assert produce(client) == ErrorCode.NONE
        allowed = [
            "--allow-principal",
            "User:bob",
            "--producer",
            "--topic",
            "ord",
            "--resource-pattern-type",
            "prefixed",
        ]
        acls(*by_broker, "--add", *allowed)
    assert explained(broker, "bob") == (0, "User:bob may Write from host * on Topic:PREFIXED:ord\n")
    assert explained(broker, "eve") == (4, "ACLs apply to the resource, but none allows the operation\n")


def explained(broker: BrokerProcess, user: str) -> tuple[int, str]:
    """The exit code of ``pybroker explain acl``, and the end of what it prints about writing to topic orders."""
    settings = str(broker.directory / "server.properties")
    question = ["--config", settings, "--user", user, "--operation", "Write", "--topic", "orders"]
    command = [sys.executable, "-m", "pybroker", "explain", "acl", *question]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.rpartition(": ")[2]


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path / "zookeeper").start()
    yield process
    process.kill()


def test_acls_written_straight_to_zookeeper_are_obeyed(zookeeper: ZooKeeperProcess, tmp_path: Path) -> None:
    in_cluster = {**SETTINGS, "zookeeper.connect": zookeeper.connect, "broker.id": "1"}
    straight = ["--authorizer-properties", f"zookeeper.connect={zookeeper.connect}"]
    with BrokerProcess(tmp_path / "broker", in_cluster) as broker, WireClient(broker.bootstrap_servers) as client:
        create_topic(client)
        acls(*straight, "--add", *DENY)
        await_answer(lambda: produce(client), lambda code: code == ErrorCode.TOPIC_AUTHORIZATION_FAILED, "the denial")
        acls(*straight, "--remove", "--force", *DENY)
        await_answer(lambda: produce(client), lambda code: code == ErrorCode.NONE, "the end of the denial")
