"""Tests of static members (KIP-345) as processes that are killed, replaced while alive, or removed."""

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from support.clients.member_processes import MemberProcess, Members, mostly
from support.clients.topics import create_topic

PARTITIONS = 2
IN_TIME_MS = 60_000
"""A session longer than the restart of a killed member."""
SHORT_MS = 6_000
"""The shortest session that Kafka allows by default."""


@pytest.fixture
def topic(servers: str, topic: str) -> str:
    create_topic(servers, topic, PARTITIONS)
    return topic


@pytest.fixture
def members(servers: str, group: str) -> Iterator[Members]:
    with Members(servers, group) as members:
        yield members


def produce(servers: str, topic: str, word: str) -> set[str]:
    """Sends `word-N` to each partition N; returns the sent values."""
    producer = Producer({"bootstrap.servers": servers})
    for partition in range(PARTITIONS):
        producer.produce(topic, f"{word}-{partition}", partition=partition)
    assert producer.flush() == 0
    return {f"{word}-{partition}" for partition in range(PARTITIONS)}


def two_members(members: Members, client: str, topic: str, session_ms: int) -> tuple[MemberProcess, MemberProcess]:
    """Starts instances "one" and "two" with a partition each."""
    one = members.start(client, topic, group_instance_id="one", session_timeout_ms=session_ms)
    two = members.start(client, topic, group_instance_id="two", session_timeout_ms=session_ms)
    members.wait_until(lambda: members.shares() == [1, 1])
    return one, two


@pytest.mark.parametrize("client", mostly("kafka-python"))
def test_killed_static_member_back_before_its_session_expires_causes_no_rebalance(
    client: str, members: Members, servers: str, topic: str
) -> None:
    one, two = two_members(members, client, topic, IN_TIME_MS)
    place_of_one, taken_before = set(one.owned), list(two.taken)
    one.kill()
    back = members.start(client, topic, group_instance_id="one", session_timeout_ms=IN_TIME_MS)
    members.wait_until(lambda: back.owned == place_of_one)
    # Output is ordered: once this record is reported, all earlier events of the member are known.
    sent = produce(servers, topic, "after")
    members.wait_until(lambda: sent <= {*back.read, *two.read})
    assert two.taken == taken_before
    assert {value.removeprefix("after-") for value in back.read} == {str(partition) for _, partition in place_of_one}


@pytest.mark.parametrize("client", mostly("confluent"))
def test_killed_static_member_loses_partitions_when_its_session_expires(
    client: str, members: Members, servers: str, topic: str
) -> None:
    one, two = two_members(members, client, topic, SHORT_MS)
    one.kill()
    members.wait_until(lambda: len(two.owned) == PARTITIONS)
    sent = produce(servers, topic, "alone")
    members.wait_until(lambda: sent <= set(two.read))
    back = members.start(client, topic, group_instance_id="one", session_timeout_ms=SHORT_MS)
    members.wait_until(lambda: bool(back.owned) and members.shares() == [1, 1])
    assert {(topic, partition) for partition in range(PARTITIONS)} in two.taken


@pytest.mark.parametrize("client", mostly("java"))
def test_older_member_is_fenced_by_newer_member_of_the_same_instance(
    client: str, members: Members, servers: str, topic: str
) -> None:
    settings = {"group_instance_id": "one", "session_timeout_ms": IN_TIME_MS}
    older = members.start(client, topic, **settings)
    members.wait_until(lambda: len(older.owned) == PARTITIONS)
    newer = members.start(client, topic, **settings)
    members.wait_until(lambda: older.has_ended)
    assert older.error is not None
    assert "fenced" in older.error.lower(), older.error
    sent = produce(servers, topic, "kept")
    members.wait_until(lambda: sent <= set(newer.read))
    assert newer.owned == {(topic, partition) for partition in range(PARTITIONS)}
    assert not newer.taken
