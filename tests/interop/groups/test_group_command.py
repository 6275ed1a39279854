"""Tests of `kafka-consumer-groups` for all groups at once, with files, with times, and on a group with members.

The broker is this file's own, so that no groups of other tests exist.
"""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from kafka import KafkaAdminClient, KafkaProducer, TopicPartition
from kafka.errors import CoordinatorNotAvailableError
from kafka.structs import OffsetAndMetadata
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.topics import create_topic
from support.processes.broker_or_kafka import StartedBroker, broker_or_kafka

HOUR_MS = 3_600_000
COMMITTED = {"red": ("apples", "cars"), "blue": ("cars",)}
"""The groups, and the topics for which they committed offset 5 in both partitions."""
Offsets = dict[tuple[str, int], int]


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedBroker]:
    """A broker with topics "apples" and "cars" of two partitions, ten records in each, one an hour, the last an hour
    ago.
    """
    with broker_or_kafka(request.config, tmp_path_factory.mktemp("group_command")) as started:
        servers = started.bootstrap_servers
        producer = KafkaProducer(bootstrap_servers=servers)
        now_ms = int(time.time() * 1000)
        for topic in ("apples", "cars"):
            create_topic(servers, topic, 2)
            for number in range(20):
                timestamp_ms = now_ms - (10 - number // 2) * HOUR_MS
                producer.send(topic, b"x", partition=number % 2, timestamp_ms=timestamp_ms)
        producer.close()
        yield started


@pytest.fixture
def admin(servers: str) -> Iterator[KafkaAdminClient]:
    """An admin client; the broker has exactly the groups of COMMITTED."""
    client = KafkaAdminClient(bootstrap_servers=servers)
    for group, topics in COMMITTED.items():
        offsets = {TopicPartition(topic, n): OffsetAndMetadata(5, "", -1) for topic in topics for n in (0, 1)}
        while True:
            try:
                client.alter_group_offsets(group, offsets)
            except CoordinatorNotAvailableError:  # Kafka answers so while it creates __consumer_offsets
                continue
            break
    yield client
    client.delete_groups([group["group_id"] for group in client.list_groups()])
    client.close()


class GroupCommand:
    """Runs the tool against the broker."""

    def __init__(self, servers: str) -> None:
        self._always = ("--bootstrap-server", servers, "--timeout", "60000")

    def __call__(self, *arguments: str) -> str:
        return run_tool(f"{TOOLS}.consumer.group.ConsumerGroupCommand", *self._always, *arguments)

    def rows(self, *arguments: str) -> list[list[str]]:
        """Returns the rows of the printed table, without its header."""
        lines = [line.split() for line in self(*arguments).splitlines()]
        begin = next(index for index, line in enumerate(lines) if line[:1] == ["GROUP"])
        return sorted(line for line in lines[begin + 1 :] if line)

    def reset(self, *arguments: str) -> str:
        return self("--reset-offsets", *arguments)


@pytest.fixture
def command(servers: str) -> GroupCommand:
    return GroupCommand(servers)


def positions(admin: KafkaAdminClient, group: str) -> Offsets:
    (found,) = admin.list_group_offsets([group]).values()
    return {(where.topic, where.partition): position.offset for where, position in found.items()}


def both(**topics: int) -> Offsets:
    """Returns the same offset for both partitions of a topic."""
    return {(topic, partition): offset for topic, offset in topics.items() for partition in (0, 1)}


# -- resets


def test_group_command_resets_all_groups_and_topics_at_once(admin: KafkaAdminClient, command: GroupCommand) -> None:
    command.reset("--all-groups", "--all-topics", "--to-earliest", "--dry-run")
    assert positions(admin, "red") == both(apples=5, cars=5)
    command.reset("--all-groups", "--all-topics", "--shift-by", "-2", "--execute")
    assert positions(admin, "red") == both(apples=3, cars=3)
    assert positions(admin, "blue") == both(cars=3)
    command.reset("--all-groups", "--topic", "apples", "--to-latest", "--execute")
    assert positions(admin, "red") == both(apples=10, cars=3)
    assert positions(admin, "blue") == both(apples=10, cars=3)


def test_group_command_reads_its_own_export(admin: KafkaAdminClient, command: GroupCommand, tmp_path: Path) -> None:
    of_one = command.reset("--group", "red", "--all-topics", "--shift-by", "2", "--export", "--dry-run")
    assert sorted(of_one.split()) == ["apples,0,7", "apples,1,7", "cars,0,7", "cars,1,7"]
    of_all = command.reset("--all-groups", "--all-topics", "--to-current", "--export", "--dry-run")
    assert sorted(of_all.split()) == [
        *("blue,cars,0,5", "blue,cars,1,5"),
        *("red,apples,0,5", "red,apples,1,5", "red,cars,0,5", "red,cars,1,5"),
    ]
    exported = tmp_path / "exported.csv"
    exported.write_text(of_one)
    command.reset("--group", "red", "--from-file", str(exported), "--execute")
    assert positions(admin, "red") == both(apples=7, cars=7)
    exported.write_text(of_all)
    command.reset("--all-groups", "--from-file", str(exported), "--execute")
    assert positions(admin, "red") == both(apples=5, cars=5)


def test_group_command_resets_to_a_time_or_duration(admin: KafkaAdminClient, command: GroupCommand) -> None:
    """The records are a little more than 10, 9, … 1 hours old, so six are older than four and a half."""
    command.reset("--group", "blue", "--topic", "cars", "--by-duration", "PT4H30M", "--execute")
    assert positions(admin, "blue") == both(cars=6)
    ago = time.gmtime(time.time() - 2.5 * HOUR_MS / 1000)
    when = time.strftime("%Y-%m-%dT%H:%M:%S.000+00:00", ago)
    command.reset("--group", "blue", "--topic", "cars:1", "--to-datetime", when, "--execute")
    assert positions(admin, "blue") == {("cars", 0): 6, ("cars", 1): 8}


def test_group_command_creates_an_unknown_group_by_a_reset(admin: KafkaAdminClient, command: GroupCommand) -> None:
    command.reset("--group", "green", "--topic", "apples", "--to-offset", "99", "--execute")
    assert positions(admin, "green") == both(apples=10)
    unknown = command.reset("--group", "green", "--topic", "unknown", "--to-earliest", "--dry-run")
    assert "UnknownTopicOrPartitionException" in unknown


# -- descriptions and deletions


def test_group_command_lists_groups_by_state_and_type(admin: KafkaAdminClient, command: GroupCommand) -> None:
    assert command.rows("--list", "--state") == [["blue", "Empty"], ["red", "Empty"]]
    assert command.rows("--list", "--state", "Stable") == []
    assert command.rows("--list", "--type") == [["blue", "Classic"], ["red", "Classic"]]
    assert command.rows("--list", "--type", "consumer") == []
    assert command.rows("--list", "--type", "classic", "--state") == [
        ["blue", "Classic", "Empty"],
        ["red", "Classic", "Empty"],
    ]


def test_group_command_deletes_offsets_and_groups(admin: KafkaAdminClient, command: GroupCommand) -> None:
    assert "Successful" in command("--delete-offsets", "--group", "red", "--topic", "cars")
    assert positions(admin, "red") == both(apples=5)
    unknown = command("--delete-offsets", "--group", "red", "--topic", "unknown")
    assert "UnknownTopicOrPartitionException" in unknown
    assert "GroupIdNotFoundException" in command("--delete", "--group", "unknown")
    assert "Consumer group 'unknown' does not exist." in command("--describe", "--group", "unknown")
    assert "was successful" in command("--delete", "--all-groups")
    assert command("--list") == ""


def test_group_command_describes_but_does_not_change_a_group_with_members(
    servers: str, admin: KafkaAdminClient, command: GroupCommand
) -> None:
    settings = {"bootstrap.servers": servers, "group.id": "red", "client.id": "reader"}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.subscribe(["cars"])
    while not consumer.assignment():
        consumer.poll(0.1)

    ((group, member, host, client, partitions, assignment),) = command.rows(
        "--describe", "--group", "red", "--members", "--verbose"
    )
    assert (group, host, client) == ("red", "/127.0.0.1", "reader")
    assert (partitions, assignment) == ("2", "(0,1)"), "the tool of 3.9 leaves the name of the topic out"
    (state,) = command.rows("--describe", "--group", "red", "--state")
    assert state[3:] == ["range", "Stable", "1"]
    described = {tuple(row[1:6]): row[6:] for row in command.rows("--describe", "--group", "red")}
    assert described == {
        ("apples", "0", "5", "10", "5"): ["-", "-", "-"],
        ("apples", "1", "5", "10", "5"): ["-", "-", "-"],
        ("cars", "0", "5", "10", "5"): [member, host, client],
        ("cars", "1", "5", "10", "5"): [member, host, client],
    }
    assert command.rows("--list", "--state", "Stable") == [["red", "Stable"]]

    refused = command.reset("--group", "red", "--topic", "cars", "--to-earliest", "--execute")
    assert "Assignments can only be reset if the group 'red' is inactive, but the current state is Stable." in refused
    assert "GroupSubscribedToTopicException" in command("--delete-offsets", "--group", "red", "--topic", "cars")
    assert "Successful" in command("--delete-offsets", "--group", "red", "--topic", "apples")
    assert "GroupNotEmptyException" in command("--delete", "--group", "red")
    assert positions(admin, "red") == both(cars=5)
    consumer.close()
