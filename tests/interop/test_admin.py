"""Tests of administration with kafka-python, its command line and Apache Kafka's own tools."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    NewPartitions,
    NewTopic,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import (
    InvalidPartitionsError,
    InvalidReplicationAssignmentError,
    NoReassignmentInProgressError,
    OffsetOutOfRangeError,
    PolicyViolationError,
    SecurityDisabledError,
    UnknownTopicOrPartitionError,
)
from kafka.structs import OffsetAndMetadata
from support.clients.kafka_tools import TOOLS, run_admin, run_tool
from support.processes.broker_process import BrokerProcess

GROUP_COMMAND = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
PATIENT = ("--timeout", "60000")
FIRST_MS = 1_600_000_000_000
PREFERRED = 0  # kafka-python has no public names for election types
REASSIGN_COMMAND = f"{TOOLS}.reassign.ReassignPartitionsCommand"


@pytest.fixture
def admin(servers: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=servers)
    yield client
    client.close()


@pytest.fixture
def broker_id(admin: KafkaAdminClient) -> int:
    (broker,) = admin.describe_cluster()["brokers"]
    return int(broker["broker_id"])


def create(admin: KafkaAdminClient, topic: str, partitions: int = 1, **settings: str) -> None:
    """Creates a topic with unlimited retention, because the records of `fill` have old timestamps."""
    configs = {"retention.ms": "-1"} | {name.replace("_", "."): value for name, value in settings.items()}
    admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=configs)])


def fill(servers: str, topic: str, count: int, partition: int = 0, first_timestamp_ms: int = FIRST_MS) -> None:
    """Produces records with timestamps one millisecond apart."""
    producer = KafkaProducer(bootstrap_servers=servers)
    for number in range(count):
        producer.send(topic, b"value %d" % number, partition=partition, timestamp_ms=first_timestamp_ms + number)
    producer.flush(30)
    producer.close()


def bounds(servers: str, topic: str, partition: int = 0) -> tuple[int, int]:
    """Returns the first offset and the end offset."""
    consumer = KafkaConsumer(bootstrap_servers=servers)
    where = TopicPartition(topic, partition)
    found = consumer.beginning_offsets([where])[where], consumer.end_offsets([where])[where]
    consumer.close()
    return found


# -- kafka-python


def test_added_partitions_can_be_produced_to_at_once(admin: KafkaAdminClient, servers: str, topic: str) -> None:
    create(admin, topic, 2)
    admin.create_partitions({topic: NewPartitions(4)})
    for partition in range(4):
        fill(servers, topic, 1, partition)
    assert [bounds(servers, topic, partition) for partition in range(4)] == [(0, 1)] * 4


def test_invalid_partition_additions_are_refused(admin: KafkaAdminClient, broker_id: int, topic: str) -> None:
    create(admin, topic, 2)
    for wish, error in (
        (NewPartitions(2), InvalidPartitionsError),
        (NewPartitions(1), InvalidPartitionsError),
        (NewPartitions(3, [[77]]), InvalidReplicationAssignmentError),
        (NewPartitions(4, [[broker_id]]), InvalidReplicationAssignmentError),
    ):
        with pytest.raises(error):
            admin.create_partitions({topic: wish})
    with pytest.raises(UnknownTopicOrPartitionError):
        admin.create_partitions({f"{topic}-unknown": NewPartitions(2)})
    admin.create_partitions({topic: NewPartitions(3)}, validate_only=True)
    (described,) = admin.describe_topics([topic])
    assert len(described["partitions"]) == 2


def test_group_reads_partitions_added_to_its_topic(
    admin: KafkaAdminClient, servers: str, topic: str, group: str
) -> None:
    create(admin, topic)
    fill(servers, topic, 1)
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=servers,
        group_id=group,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        metadata_max_age_ms=1000,
    )
    seen: set[int] = set()
    while seen != {0}:
        seen |= {where.partition for where in consumer.poll(timeout_ms=1000)}
    admin.create_partitions({topic: NewPartitions(2)})
    fill(servers, topic, 1, partition=1)
    while seen != {0, 1}:
        seen |= {where.partition for where in consumer.poll(timeout_ms=1000)}
    consumer.close()


def test_deleted_records_are_no_longer_read(admin: KafkaAdminClient, servers: str, topic: str) -> None:
    create(admin, topic, 2)
    fill(servers, topic, 10)
    where = TopicPartition(topic, 0)
    deleted = admin.delete_records({where: 4, TopicPartition(topic, 1): 0})
    assert {deleted_from.partition: answer["low_watermark"] for deleted_from, answer in deleted.items()} == {0: 4, 1: 0}
    assert bounds(servers, topic) == (4, 10)
    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
    consumer.assign([where])
    consumer.seek(where, 1)
    offsets: list[int] = []
    while len(offsets) < 6:
        for records in consumer.poll(timeout_ms=1000).values():
            offsets += [record.offset for record in records]
    consumer.close()
    assert offsets == list(range(4, 10))
    assert admin.delete_records({where: -1})[where]["low_watermark"] == 10


def test_invalid_record_deletions_are_refused(admin: KafkaAdminClient, servers: str, topic: str) -> None:
    create(admin, topic)
    fill(servers, topic, 3)
    with pytest.raises(OffsetOutOfRangeError):
        admin.delete_records({TopicPartition(topic, 0): 4})
    create(admin, f"{topic}-compacted", cleanup_policy="compact")
    with pytest.raises(PolicyViolationError):
        admin.delete_records({TopicPartition(f"{topic}-compacted", 0): 0})
    assert bounds(servers, topic) == (0, 3)


def test_deleted_records_stay_deleted_after_a_restart(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path) as broker:
        servers = broker.bootstrap_servers
        admin = KafkaAdminClient(bootstrap_servers=servers)
        create(admin, "t")
        fill(servers, "t", 10)
        admin.delete_records({TopicPartition("t", 0): 4})
        admin.close()
        broker.stop()
        broker.start()
        assert bounds(broker.bootstrap_servers, "t") == (4, 10)


def test_log_directories_are_described_with_sizes(
    admin: KafkaAdminClient, broker: BrokerProcess, servers: str, topic: str
) -> None:
    create(admin, topic, 2)
    fill(servers, topic, 20, partition=1)
    (described,) = admin.describe_log_dirs(topic_partitions={topic: [0, 1]})
    (directory,) = described["log_dirs"]
    assert directory["log_dir"] == str(broker.log_directory)
    assert 0 < directory["usable_bytes"] <= directory["total_bytes"]
    (told,) = directory["topics"]
    sizes = {partition["partition_index"]: partition["partition_size"] for partition in told["partitions"]}
    on_disk = (broker.log_directory / f"{topic}-1" / f"{0:020}.log").stat().st_size
    assert sizes == {0: 0, 1: on_disk}


def test_elections_and_reassignments_on_a_single_broker_change_nothing(
    admin: KafkaAdminClient, broker_id: int, topic: str
) -> None:
    create(admin, topic)
    where = TopicPartition(topic, 0)
    answer = admin.elect_leaders(PREFERRED, {topic: [0]}, raise_errors=False)
    codes = [each.error_code for result in answer.replica_election_results for each in result.partition_result]
    assert codes == [84]
    assert admin.alter_partition_reassignments({where: [broker_id]}) == {where: None}
    assert admin.alter_partition_reassignments({where: None}) == {where: NoReassignmentInProgressError}
    assert admin.alter_partition_reassignments({where: [77]}) == {where: InvalidReplicationAssignmentError}
    assert admin.list_partition_reassignments() == {}


def test_idempotent_producers_are_described(admin: KafkaAdminClient, servers: str, topic: str) -> None:
    create(admin, topic)
    producer = KafkaProducer(bootstrap_servers=servers, enable_idempotence=True)
    for number in range(5):
        producer.send(topic, b"%d" % number)
    producer.flush(30)
    producer.close()
    where = TopicPartition(topic, 0)
    (state,) = admin.describe_producers([where])[where].active_producers
    assert (state.producer_epoch, state.last_sequence, state.current_transaction_start_offset) == (0, 4, -1)


def test_unsupported_apis_return_a_clear_error(admin: KafkaAdminClient) -> None:
    everything = ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY)
    rules = ACLFilter(
        principal=None,
        host=None,
        operation=ACLOperation.ANY,
        permission_type=ACLPermissionType.ANY,
        resource_pattern=everything,
    )
    with pytest.raises(SecurityDisabledError):
        admin.describe_acls(rules)
    assert admin.describe_user_scram_credentials() == {}


def test_kafka_python_infers_the_broker_version(admin: KafkaAdminClient, broker_id: int) -> None:
    """The client infers Kafka's version from the served APIs."""
    assert admin.get_broker_version_data(broker_id).broker_version == (3, 9)


# -- python -m kafka.admin


def test_kafka_python_command_line_administers_topics(
    servers: str, broker_id: int, topic: str, request: pytest.FixtureRequest
) -> None:
    run_admin(servers, "topics", "create", "-t", topic, "--num-partitions", "2", "--replication-factor", "1")
    run_admin(servers, "partitions", "create", "-p", f"{topic}:3")
    fill(servers, topic, 5, first_timestamp_ms=int(time.time() * 1000))
    assert "'low_watermark': 2" in run_admin(servers, "partitions", "delete-records", "-r", f"{topic}:0:2")
    assert "'offset': 5" in run_admin(servers, "partitions", "list-offsets", "-p", f"{topic}:0:latest")
    assert "'offset': 2" in run_admin(servers, "partitions", "list-offsets", "-p", f"{topic}:0:earliest")
    assert "error_code=84" in run_admin(servers, "partitions", "elect-leaders", "-p", f"{topic}:0")
    assert "None" in run_admin(servers, "partitions", "alter-reassignments", "-r", f"{topic}:0={broker_id}")
    assert run_admin(servers, "partitions", "list-reassignments").strip() == "{}"
    assert "'usable_bytes'" in run_admin(servers, "cluster", "describe-log-dirs")
    against_kafka = request.config.getoption("--against-kafka")
    assert (run_admin(servers, "cluster", "describe-features").strip() == "{}") == against_kafka
    assert "active_producers" in run_admin(servers, "transactions", "describe-producers", "-t", topic, "-p", "0")
    assert run_admin(servers, "users", "describe-scram-credentials").strip() == "{}"
    assert "SecurityDisabledError" in run_admin(servers, "acls", "describe", expected=1)
    run_admin(servers, "topics", "delete", "-t", topic)
    assert topic not in run_admin(servers, "topics", "list")


def test_kafka_python_command_line_pages_through_partitions(
    servers: str, broker_id: int, topic: str, request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--against-kafka"):
        pytest.skip("Kafka serves DescribeTopicPartitions without ZooKeeper only")
    run_admin(servers, "topics", "create", "-t", topic, "--num-partitions", "3", "--replication-factor", "1")
    first = run_admin(servers, "partitions", "describe", "-t", topic, "--response-partition-limit", "2")
    assert first.count("'partition_index'") == 3, "two partitions and a cursor"
    rest = ("--cursor-topic", topic, "--cursor-partition", "2")
    assert run_admin(servers, "partitions", "describe", "-t", topic, *rest).count(f"'leader_id': {broker_id}") == 1


# -- Kafka's tools


def test_kafka_topics_adds_partitions_and_describes_topics(servers: str, broker_id: int, topic: str) -> None:
    def topics(*arguments: str, expected: int = 0) -> str:
        return run_tool(f"{TOOLS}.TopicCommand", "--bootstrap-server", servers, *arguments, expected=expected)

    topics("--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=100000")
    topics("--alter", "--topic", topic, "--partitions", "4")
    refused = topics("--alter", "--topic", topic, "--partitions", "3", expected=1)
    assert "Topic currently has 4 partitions, which is higher than the requested 3." in refused
    topics("--alter", "--topic", topic, "--partitions", "5", "--replica-assignment", ",".join([f"{broker_id}"] * 5))
    described = topics("--describe", "--topic", topic, "--partition-size-limit-per-response", "2")
    assert "PartitionCount: 5\tReplicationFactor: 1\tConfigs: retention.ms=100000" in described
    assert described.count(f"Leader: {broker_id}\tReplicas: {broker_id}\tIsr: {broker_id}") == 5
    assert described.count("\tElr: N/A\tLastKnownElr: N/A") == 5
    assert topics("--describe", "--topic", topic, "--under-replicated-partitions") == ""


def test_kafka_tools_delete_records_and_show_offsets_and_sizes(
    servers: str, admin: KafkaAdminClient, topic: str, tmp_path: Path
) -> None:
    create(admin, topic, 2)
    fill(servers, topic, 6)
    fill(servers, topic, 4, partition=1)
    wishes = tmp_path / "offsets.json"

    def delete(*offsets: tuple[int, int]) -> str:
        partitions = [{"topic": topic, "partition": index, "offset": offset} for index, offset in offsets]
        wishes.write_text(json.dumps({"partitions": partitions, "version": 1}))
        return run_tool(
            f"{TOOLS}.DeleteRecordsCommand", "--bootstrap-server", servers, "--offset-json-file", str(wishes)
        )

    def offsets(when: str) -> list[str]:
        found = run_tool(f"{TOOLS}.GetOffsetShell", "--bootstrap-server", servers, "--topic", topic, "--time", when)
        return sorted(found.split())

    deleted = delete((0, 2), (1, -1))
    assert f"partition: {topic}-0\tlow_watermark: 2" in deleted
    assert f"partition: {topic}-1\tlow_watermark: 4" in deleted
    assert "OffsetOutOfRangeException" in delete((0, 7))
    assert offsets("earliest") == [f"{topic}:0:2", f"{topic}:1:4"]
    assert offsets("latest") == [f"{topic}:0:6", f"{topic}:1:4"]
    assert offsets("1600000000004") == [f"{topic}:0:4"], "nothing of that time is in the other"
    described = run_tool(f"{TOOLS}.LogDirsCommand", "--bootstrap-server", servers, "--describe", "--topic-list", topic)
    (directory,) = json.loads(described.splitlines()[-1])["brokers"][0]["logDirs"]
    assert directory["error"] is None
    assert {each["partition"]: each["offsetLag"] for each in directory["partitions"]} == {
        f"{topic}-0": 0,
        f"{topic}-1": 0,
    }


def test_kafka_tools_elect_leaders_and_reassign_partitions(
    servers: str, admin: KafkaAdminClient, broker_id: int, topic: str, tmp_path: Path
) -> None:
    create(admin, topic)
    elected = run_tool(
        f"{TOOLS}.LeaderElectionCommand", "--bootstrap-server", servers, "--election-type", "preferred",
        "--topic", topic, "--partition", "0",
    )  # fmt: skip
    assert f"Valid replica already elected for partitions {topic}-0" in elected
    wish = tmp_path / "reassignment.json"

    def reassign(*arguments: str, broker: int = broker_id, expected: int = 0) -> str:
        partitions = [{"topic": topic, "partition": 0, "replicas": [broker], "log_dirs": ["any"]}]
        wish.write_text(json.dumps({"version": 1, "partitions": partitions}))
        return run_tool(
            REASSIGN_COMMAND, "--bootstrap-server", servers, "--reassignment-json-file", str(wish), *arguments,
            expected=expected,
        )  # fmt: skip

    assert f"Successfully started partition reassignment for {topic}-0" in reassign("--execute")
    assert f"Reassignment of partition {topic}-0 is completed." in reassign("--verify")
    assert "None of the specified partition reassignments are active." in reassign("--cancel")
    assert "Unknown broker id 77" in reassign("--execute", broker=77, expected=1)
    assert "No partition reassignments found." in run_tool(REASSIGN_COMMAND, "--bootstrap-server", servers, "--list")


def test_kafka_tools_report_unsupported_features(servers: str) -> None:
    refused = run_tool("kafka.admin.AclCommand", "--bootstrap-server", servers, "--list", expected=1)
    assert "SecurityDisabledException: No Authorizer is configured on the broker" in refused


# -- Kafka's consumer group command

LONG_AFTER = "2021-01-01T00:00:00.000"
RESETS = {
    "earliest": (["--to-earliest"], {0: 2, 1: 0}),
    "latest": (["--to-latest"], {0: 10, 1: 10}),
    "current": (["--to-current"], {0: 5, 1: 5}),
    "an offset": (["--to-offset", "4"], {0: 4, 1: 4}),
    "an offset before the first": (["--to-offset", "1"], {0: 2, 1: 1}),
    "an offset beyond the last": (["--to-offset", "99"], {0: 10, 1: 10}),
    "forward": (["--shift-by", "3"], {0: 8, 1: 8}),
    "forward beyond the last": (["--shift-by", "99"], {0: 10, 1: 10}),
    "back beyond the first": (["--shift-by", "-4"], {0: 2, 1: 1}),
    "a date": (["--to-datetime", "2020-09-13T12:26:40.003"], {0: 3, 1: 3}),
    "a date after the last": (["--to-datetime", LONG_AFTER], {0: 10, 1: 10}),
    "a duration": (["--by-duration", "P3650D"], {0: 2, 1: 0}),
}


@pytest.fixture
def committed(servers: str, admin: KafkaAdminClient, topic: str, group: str) -> str:
    """A topic of two partitions with ten records each; the first two of partition 0 are deleted; the group is at offset
    5.
    """
    create(admin, topic, 2)
    fill(servers, topic, 10)
    fill(servers, topic, 10, partition=1)
    admin.delete_records({TopicPartition(topic, 0): 2})
    offsets = {TopicPartition(topic, index): OffsetAndMetadata(5, "", -1) for index in (0, 1)}
    admin.alter_group_offsets(group, offsets)
    return topic


def positions(admin: KafkaAdminClient, group: str) -> dict[int, int]:
    (found,) = admin.list_group_offsets([group]).values()
    return {where.partition: position.offset for where, position in found.items()}


@pytest.mark.parametrize("kind", RESETS)
def test_kafka_consumer_groups_resets_offsets(
    servers: str, admin: KafkaAdminClient, committed: str, group: str, kind: str
) -> None:
    arguments, expected = RESETS[kind]
    command = (GROUP_COMMAND, *PATIENT, "--bootstrap-server", servers, "--reset-offsets", "--group", group)
    printed = run_tool(*command, "--topic", committed, *arguments, "--execute")
    assert committed in printed
    assert positions(admin, group) == expected


def test_kafka_consumer_groups_resets_from_a_file_and_dry_runs(
    servers: str, admin: KafkaAdminClient, committed: str, group: str, tmp_path: Path
) -> None:
    command = (GROUP_COMMAND, *PATIENT, "--bootstrap-server", servers, "--reset-offsets", "--group", group)
    run_tool(*command, "--all-topics", "--to-latest", "--dry-run")
    assert positions(admin, group) == {0: 5, 1: 5}
    run_tool(*command, "--topic", f"{committed}:1", "--to-latest", "--execute")
    assert positions(admin, group) == {0: 5, 1: 10}
    file = tmp_path / "offsets.csv"
    file.write_text(f"{committed},0,7\n{committed},1,8\n")
    run_tool(*command, "--from-file", str(file), "--execute")
    assert positions(admin, group) == {0: 7, 1: 8}


def test_kafka_consumer_groups_describes_and_deletes_groups(
    servers: str, admin: KafkaAdminClient, committed: str, group: str
) -> None:
    def groups(*arguments: str) -> str:
        return run_tool(GROUP_COMMAND, *PATIENT, "--bootstrap-server", servers, *arguments)

    assert group in groups("--list").split()
    rows = [line.split() for line in groups("--describe", "--group", group).splitlines() if line.startswith(group)]
    assert sorted(row[2:6] for row in rows) == [["0", "5", "10", "5"], ["1", "5", "10", "5"]]
    assert "Empty" in groups("--describe", "--group", group, "--state")
    assert "Successful" in groups("--delete-offsets", "--group", group, "--topic", f"{committed}:0")
    assert positions(admin, group) == {1: 5}
    assert "was successful" in groups("--delete", "--group", group)
    assert group not in groups("--list").split()
