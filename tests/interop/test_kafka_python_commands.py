"""Tests of the commands of kafka-python 3: `python -m kafka.admin`, `kafka.producer` and `kafka.consumer`.

Admin commands run in this process, because starting a process is slow; one test starts them as processes.
"""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer
from kafka.cli.admin import run_cli


class Admin:
    """Runs `python -m kafka.admin` in this process."""

    def __init__(self, servers: str, topic: str, capture: pytest.CaptureFixture[str]) -> None:
        self._servers = servers
        self._topic = topic
        self._capture = capture

    def __call__(self, command: str, *, status: int = 0, output: str = "json") -> Any:
        """Returns the output of the command, as text if another exit status is expected; TOPIC stands for the test's
        topic.
        """
        arguments = command.replace("TOPIC", self._topic).split()
        assert run_cli(["-b", self._servers, "--format", output, *arguments]) == status, self._capture.readouterr()
        said = self._capture.readouterr().out
        return json.loads(said) if output == "json" and status == 0 else said

    def serves(self, api: str) -> bool:
        return bool(self(f"cluster api-versions -k {api}"))


@pytest.fixture
def admin(servers: str, topic: str, capsys: pytest.CaptureFixture[str]) -> Admin:
    return Admin(servers, topic, capsys)


@pytest.fixture
def filled(admin: Admin, servers: str, topic: str) -> str:
    """A topic of two partitions with five records in each."""
    admin("topics create -t TOPIC --num-partitions 2 --replication-factor 1")
    producer = KafkaProducer(bootstrap_servers=servers)
    for n in range(10):
        producer.send(topic, str(n).encode(), partition=n % 2)
    producer.close()
    return topic


@pytest.fixture
def node(admin: Admin) -> int:
    """Returns the broker's id."""
    broker_id: int = admin("cluster describe")["controller_id"]
    return broker_id


@pytest.fixture
def member(servers: str, filled: str, group: str) -> Iterator[KafkaConsumer]:
    """A static member of the group that has read and committed everything."""
    consumer = KafkaConsumer(
        filled,
        bootstrap_servers=servers,
        group_id=group,
        group_instance_id="static",
        client_id="reader",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    left = 10
    while left:
        left -= sum(map(len, consumer.poll(timeout_ms=1000).values()))
    consumer.commit()
    yield consumer
    consumer.close()


@contextmanager
def children_heed_interrupts() -> Iterator[None]:
    """Restores SIGINT in child processes, because a shell that starts tests in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_commands_run_as_processes(servers: str, topic: str) -> None:
    def command(name: str, *arguments: str) -> list[str]:
        return [sys.executable, "-m", f"kafka.{name}", "-b", servers, *arguments]

    create = command("admin", "topics", "create", "-t", topic, "--num-partitions", "1")
    assert subprocess.run(create, capture_output=True, text=True, check=False).returncode == 0
    producer = command("producer", "-t", topic)
    produced = subprocess.run(producer, input="one\ntwo\nthree\n", capture_output=True, text=True, check=False)
    assert produced.returncode == 0, produced.stderr
    consumer = command("consumer", "-t", topic, "-g", f"{topic}-readers", "-C", "auto_offset_reset=earliest")
    with (
        children_heed_interrupts(),
        subprocess.Popen(["env", "PYTHONUNBUFFERED=1", *consumer], stdout=subprocess.PIPE, text=True) as process,
    ):
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["one\n", "two\n", "three\n"]
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0


def test_topic_commands_work_with_kafka_pythons_command_line(admin: Admin, topic: str) -> None:
    (created,) = admin("topics create -t TOPIC --num-partitions 2 --replication-factor 1")["topics"]
    assert (created["name"], created["num_partitions"], created["replication_factor"]) == (topic, 2, 1)
    assert created["configs"]["cleanup.policy"]["value"] == "delete"
    assert topic in admin("topics list")
    (described,) = admin("topics describe -t TOPIC")
    assert [partition["partition_index"] for partition in described["partitions"]] == [0, 1]
    assert admin(f"topics describe --id {described['topic_id']}") == [described]
    assert "TopicAlreadyExists" in admin("topics create -t TOPIC", status=1)
    assert "InvalidReplicationFactor" in admin("topics create -t other-TOPIC --replication-factor 2", status=1)
    (deleted,) = admin("topics delete -t TOPIC")["topics"]
    assert (deleted["name"], deleted["error_code"]) == (topic, 0)
    assert topic not in admin("topics list")


def test_cluster_commands_work_with_kafka_pythons_command_line(
    admin: Admin, filled: str, servers: str, node: int, request: pytest.FixtureRequest
) -> None:
    described = admin("cluster describe")
    (broker,) = described["brokers"]
    assert f"{broker['host']}:{broker['port']}" == servers
    assert broker["broker_id"] == node
    assert len(described["cluster_id"]) == 22
    assert admin("cluster api-versions -k Produce -k ApiVersions").keys() == {"Produce", "ApiVersions"}
    assert admin(f"cluster broker-version --broker {node}") == {str(node): "3.9"}
    against_kafka = request.config.getoption("--against-kafka")
    features = set() if against_kafka else {"group.version", "share.version", "transaction.version"}
    assert admin("cluster describe-features").keys() == features
    assert "not supported" in admin("cluster update-features -f metadata.version=1")["metadata.version"]
    assert "IncompatibleBrokerVersion" in admin("cluster describe-quorum", status=1)
    (logs,) = admin("cluster describe-log-dirs")
    (mine,) = [one for directory in logs["log_dirs"] for one in directory["topics"] if one["name"] == filled]
    assert all(partition["partition_size"] > 5 * 7 for partition in mine["partitions"])
    moved = admin(f"cluster alter-log-dirs -a TOPIC:0:{node}=/nowhere")
    assert moved == {f"{filled}:0:{node}": "LogDirNotFoundError"}


def test_topic_config_commands_work_with_kafka_pythons_command_line(admin: Admin, filled: str) -> None:
    def retention() -> tuple[str, str]:
        described = admin("configs describe -r topic -n TOPIC -c retention.ms")
        setting = described["topic"][filled]["retention.ms"]
        return setting["value"], setting["config_source"]

    assert retention() == ("604800000", "DEFAULT_CONFIG")
    assert admin("configs describe -r topic -n TOPIC --modified") == {"topic": {filled: {}}}
    assert admin("configs alter -r topic -n TOPIC -c retention.ms=100000") == {"topic": {filled: "OK"}}
    assert retention() == ("100000", "DYNAMIC_TOPIC_CONFIG")
    assert admin("configs describe -r topic -n TOPIC --modified")["topic"][filled].keys() == {"retention.ms"}
    assert admin("configs reset -r topic -n TOPIC -c retention.ms") == {"topic": {filled: "OK"}}
    assert retention() == ("604800000", "DEFAULT_CONFIG")
    admin("configs alter -r topic -n TOPIC -c retention.ms=200000 --force-alter")
    assert retention() == ("200000", "DYNAMIC_TOPIC_CONFIG")
    refused = admin("configs alter -r topic -n TOPIC -c retention.ms=soon")["topic"][filled]
    assert "InvalidConfigurationError" in refused
    assert retention() == ("200000", "DYNAMIC_TOPIC_CONFIG")


def test_broker_config_commands_work_with_kafka_pythons_command_line(
    admin: Admin, node: int, request: pytest.FixtureRequest
) -> None:
    name = "log.cleaner.io.buffer.size"

    def source() -> str:
        described = admin(f"configs describe -r broker -n {node} -c {name}")["broker"][str(node)]
        config_source: str = described[name]["config_source"]
        return config_source

    assert source() == "DEFAULT_CONFIG"
    assert admin(f"configs alter -r broker -n {node} -c {name}=600000") == {"broker": {str(node): "OK"}}
    assert source() == "DYNAMIC_BROKER_CONFIG"
    admin(f"configs reset -r broker -n {node} -c {name}")
    assert source() == "DEFAULT_CONFIG"
    if request.config.getoption("--against-kafka"):
        assert "IncompatibleBrokerVersion" in admin("configs list", status=1)
    else:
        assert admin("configs list")["broker"] == [str(node)]


@pytest.mark.usefixtures("member")
def test_group_commands_on_a_group_with_a_member(admin: Admin, filled: str, group: str) -> None:
    mine = {"group_id": group, "group_state": "Stable", "group_type": "classic", "protocol_type": "consumer"}
    for listing in ("list", "list --state Stable", "list --type classic"):
        assert mine in admin(f"groups {listing}")
    assert mine not in admin("groups list --state Empty")
    described = admin(f"groups describe -g {group}")[group]
    (member,) = described["members"]
    assert (member["client_id"], member["group_instance_id"], member["client_host"]) == (
        "reader",
        "static",
        "/127.0.0.1",
    )
    assert member["member_assignment"]["assigned_partitions"] == [{"topic": filled, "partitions": [0, 1]}]
    offsets = admin(f"groups list-offsets -g {group}")[filled]
    assert {partition: (one["offset"], one["lag"]) for partition, one in offsets.items()} == {"0": (5, 0), "1": (5, 0)}
    altered = admin(f"groups alter-offsets -g {group} -o TOPIC:0:3")
    assert altered == {f"{filled}:0": "UnknownMemberIdError"}
    assert admin(f"groups delete -g {group}") == {group: "NonEmptyGroupError"}
    assert admin(f"groups remove-members -g {group} -i static -i nobody") == {
        "static": "NoError",
        "nobody": "UnknownMemberIdError",
    }
    assert admin(f"groups describe -g {group}")[group]["members"] == []


def test_offset_commands_on_an_empty_group(admin: Admin, filled: str, group: str) -> None:
    def offsets() -> dict[str, int]:
        listed = admin(f"groups list-offsets -g {group}")
        return {partition: one["offset"] for partition, one in listed.get(filled, {}).items()}

    admin(f"groups alter-offsets -g {group} -o TOPIC:0:3 -o TOPIC:1:2")
    assert offsets() == {"0": 3, "1": 2}
    # --shift-by and --to-current fail in kafka-python 3.0 itself, which confuses groups with partitions.
    for reset, expected in {
        "-s earliest": 0,
        "-s latest": 5,
        "--to-offset 4": 4,
        "--by-duration PT1H": 0,
        "--to-datetime 2100-01-01": 5,
    }.items():
        admin(f"groups reset-offsets -g {group} {reset} -p TOPIC:0")
        assert offsets() == {"0": expected, "1": 2}
    assert admin(f"groups delete-offsets -g {group} -p TOPIC:1") == {f"{filled}:1": "NoError"}
    assert offsets().keys() == {"0"}
    assert admin(f"groups delete -g {group}") == {group: "OK"}
    assert admin(f"groups describe -g {group}")[group]["group_state"] == "Dead"


def test_partition_commands_work_with_kafka_pythons_command_line(admin: Admin, filled: str, node: int) -> None:
    def offsets(spec: str, partitions: str = "0-2") -> list[int]:
        listed = admin(f"partitions list-offsets -p TOPIC:{partitions}:{spec}")[filled]
        return [listed[partition]["offset"] for partition in sorted(listed)]

    admin("partitions create -p TOPIC:3 --validate-only", output="raw")
    assert len(admin("topics describe -t TOPIC")[0]["partitions"]) == 2
    admin("partitions create -p TOPIC:3", output="raw")
    assert "InvalidPartitions" in admin("partitions create -p TOPIC:2", status=1)
    assert offsets("earliest", "*") == [0, 0, 0]
    assert offsets("latest") == [5, 5, 0]
    assert offsets("earliest-local") == [0, 0, 0]
    assert offsets("latest-tiered") == [-1, -1, -1]
    (of_newest,) = offsets("max-timestamp", "0")
    assert 0 <= of_newest < 5
    admin("partitions delete-records -r TOPIC:0:2 -r TOPIC:1:-1", output="raw")
    assert offsets("earliest") == [2, 5, 0]
    assert admin("partitions list-reassignments") == {}
    assert admin("partitions list-reassignments -p TOPIC:0") == {}
    assert admin(f"partitions alter-reassignments -r TOPIC:0={node}") == {f"{filled}:0": None}
    cancelled = admin("partitions alter-reassignments -r TOPIC:0=cancel")
    assert cancelled == {f"{filled}:0": "NoReassignmentInProgressError"}
    for election in ("-p TOPIC:0", "--election-type unclean -t TOPIC"):
        elected = admin(f"partitions elect-leaders {election} --no-raise-errors", output="raw")
        assert "Leader election not needed" in elected


@pytest.mark.usefixtures("filled")
def test_partition_command_describes_page_by_page(admin: Admin) -> None:
    if not admin.serves("DescribeTopicPartitions"):
        pytest.skip("Kafka serves DescribeTopicPartitions in KRaft mode only")
    first = admin("partitions describe -t TOPIC --response-partition-limit 1", output="raw")
    rest = admin("partitions describe -t TOPIC --cursor-topic TOPIC --cursor-partition 1", output="raw")
    # Twice on the first page: as a shown partition, and as the start of the next page.
    assert re.findall("'partition_index': (.)", first) == ["1", "0"]
    assert re.findall("'partition_index': (.)", rest) == ["1"]


def test_acl_commands_are_refused_without_an_authorizer(admin: Admin) -> None:
    assert "SecurityDisabledError" in admin("acls describe", status=1)
    acl = "--principal User:alice --operation read --resource-type topic --resource-name TOPIC"
    (failed,) = admin(f"acls create {acl}")["failed"]
    (deletion,) = admin("acls delete --principal User:alice")
    assert "SecurityDisabledError" in failed
    assert "SecurityDisabledError" in deletion["error"]


def test_user_command_lists_no_credentials(admin: Admin) -> None:
    assert admin("users describe-scram-credentials") == {}
    assert "does not exist" in admin("users describe-scram-credentials --user nobody")["nobody"]["error"]
    assert "does not exist" in admin("users alter-scram-credentials --delete nobody:SCRAM-SHA-256")["nobody"]


def test_transaction_commands_describe_producers_without_transactions(admin: Admin, filled: str) -> None:
    (producer,) = admin("transactions describe-producers -t TOPIC -p 0")[f"{filled}:0"]["active_producers"]
    assert (producer["producer_epoch"], producer["last_sequence"]) == (0, 4)
    assert producer["current_transaction_start_offset"] == -1
    assert admin("transactions find-hanging") == []


def test_transaction_commands_list_describe_and_abort(admin: Admin, filled: str, servers: str, node: int) -> None:
    transactional_id = f"transaction-of-{filled}"
    producer = KafkaProducer(bootstrap_servers=servers, transactional_id=transactional_id)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(filled, b"open", partition=0).get()
    (listed,) = [one for one in admin("transactions list")[str(node)] if one["transactional_id"] == transactional_id]
    assert "Ongoing" in str(listed)
    described = admin(f"transactions describe --transactional-id {transactional_id}")[transactional_id]
    assert (described["state"], described["topic_partitions"]) == ("Ongoing", [{"topic": filled, "partition": 0}])
    identity = f"--producer-id {described['producer_id']} --producer-epoch {described['producer_epoch']}"
    admin(f"transactions abort -t TOPIC -p 0 {identity}")
    active = admin("transactions describe-producers -t TOPIC -p 0")[f"{filled}:0"]["active_producers"]
    assert {one["current_transaction_start_offset"] for one in active} == {-1}
    producer.abort_transaction()
    producer.close()
