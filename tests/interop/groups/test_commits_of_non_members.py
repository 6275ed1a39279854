"""Tests of commits by consumers with manually assigned partitions: generation -1, no member id."""

import subprocess
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from kafka import KafkaConsumer
from kafka import TopicPartition as KafkaPythonPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata
from support.clients.foreign_clients import PROGRAMS
from support.clients.member_processes import Members
from support.clients.topics import create_topic
from support.processes.java_programs import java_program

Commit = Callable[[str, str, str, int], str]
"""Commits the offset of partition 0 for (servers, group, topic, offset): "committed", or an error's name."""


def commit_by_java(servers: str, group: str, topic: str, offset: int) -> str:
    command = [*java_program(PROGRAMS / "members" / "Committer.java"), servers, group, topic, str(offset)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def commit_by_confluent(servers: str, group: str, topic: str, offset: int) -> str:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    consumer.assign([TopicPartition(topic, 0)])
    try:
        consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    except KafkaException as refused:
        return str(refused.args[0].name())
    else:
        return "committed"
    finally:
        consumer.close()


def commit_by_kafka_python(servers: str, group: str, topic: str, offset: int) -> str:
    consumer = KafkaConsumer(bootstrap_servers=servers, group_id=group, enable_auto_commit=False)
    partition = KafkaPythonPartition(topic, 0)
    consumer.assign([partition])
    try:
        consumer.commit({partition: OffsetAndMetadata(offset, "", -1)})
    except KafkaError as refused:
        return type(refused).__name__
    else:
        return "committed"
    finally:
        consumer.close()


REFUSED: dict[Commit, str] = {
    commit_by_java: "CommitFailedException",
    commit_by_confluent: "UNKNOWN_MEMBER_ID",
    commit_by_kafka_python: "CommitFailedError",
}


def committed(servers: str, group: str, topic: str) -> int:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    (partition,) = consumer.committed([TopicPartition(topic, 0)])
    consumer.close()
    return partition.offset


@pytest.mark.parametrize("commit", REFUSED)
def test_non_member_can_commit_only_while_the_group_is_empty(
    commit: Commit, servers: str, topic: str, group: str
) -> None:
    create_topic(servers, topic, 1)
    assert commit(servers, group, topic, 5) == "committed"
    assert committed(servers, group, topic) == 5
    with Members(servers, group) as members:
        member = members.start("confluent", topic)
        members.wait_until(lambda: bool(member.owned))
        assert commit(servers, group, topic, 6) == REFUSED[commit]
        assert committed(servers, group, topic) == 5
        assert not member.taken
        member.leave()
    assert commit(servers, group, topic, 7) == "committed"
    assert committed(servers, group, topic) == 7
