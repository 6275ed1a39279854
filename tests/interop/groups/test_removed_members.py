"""Tests of members removed by an administrator (KIP-345, KIP-571), by the admin clients of Java and kafka-python."""

import subprocess
from collections.abc import Callable, Iterator

import pytest
from kafka import KafkaAdminClient
from kafka.admin import MemberToRemove
from support.clients.foreign_clients import PROGRAMS
from support.clients.member_processes import Members
from support.clients.topics import admin_client, create_topic
from support.processes.java_programs import java_program

LONG_MS = 300_000
"""A session longer than the test."""


@pytest.fixture
def topic(servers: str, topic: str) -> str:
    create_topic(servers, topic, 3)
    return topic


@pytest.fixture
def members(servers: str, group: str) -> Iterator[Members]:
    with Members(servers, group) as members:
        yield members


def remove_by_java(servers: str, group: str, *instances: str) -> list[str]:
    """Returns the result for each instance; without instances, all members are removed."""
    command = [*java_program(PROGRAMS / "members" / "Administrator.java"), servers, group, *instances]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


def remove_by_kafka_python(servers: str, group: str, *instances: str) -> list[str]:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    results = admin.remove_group_members(group, [MemberToRemove(group_instance_id=one) for one in instances])
    admin.close()
    names = {"NoError": "removed", "UnknownMemberIdError": "UnknownMemberIdException"}
    return [f"{instance}: {names[results[instance].__name__]}" for instance in instances]


def state_of(servers: str, group: str) -> str:
    admin = admin_client(servers)
    return str(admin.describe_consumer_groups([group])[group].result().state.name)


@pytest.mark.parametrize("remove", [pytest.param(remove_by_java, marks=pytest.mark.long), remove_by_kafka_python])
def test_dead_static_members_can_be_removed_before_their_session_expires(
    remove: Callable[..., list[str]], members: Members, servers: str, topic: str, group: str
) -> None:
    one, two, three = (
        members.start("confluent", topic, group_instance_id=name, session_timeout_ms=LONG_MS)
        for name in ("one", "two", "three")
    )
    members.wait_until(lambda: members.shares() == [1, 1, 1])
    one.kill()
    two.kill()
    assert remove(servers, group, "one", "nobody", "two") == [
        "one: removed",
        "nobody: UnknownMemberIdException",
        "two: removed",
    ]
    members.wait_until(lambda: len(three.owned) == 3)


def test_living_members_rejoin_after_all_members_are_removed(
    members: Members, servers: str, topic: str, group: str
) -> None:
    dead = members.start("confluent", topic, group_instance_id="dead", session_timeout_ms=LONG_MS)
    static = members.start("confluent", topic, group_instance_id="static", session_timeout_ms=LONG_MS)
    dynamic = members.start("java", topic, session_timeout_ms=LONG_MS)
    members.wait_until(lambda: members.shares() == [1, 1, 1])
    dead.kill()
    assert remove_by_java(servers, group) == []
    members.wait_until(lambda: members.shares() == [1, 2])
    assert static.owned | dynamic.owned == {(topic, partition) for partition in range(3)}


def test_group_is_empty_after_all_its_members_are_removed(
    members: Members, servers: str, topic: str, group: str
) -> None:
    for client, instance in (("confluent", None), ("confluent", "static"), ("java", "java")):
        members.start(client, topic, group_instance_id=instance, session_timeout_ms=LONG_MS)
    members.wait_until(lambda: members.shares() == [1, 1, 1])
    members.kill_all()
    assert state_of(servers, group) == "STABLE"
    assert remove_by_java(servers, group) == []
    assert state_of(servers, group) == "EMPTY"
