"""Tests that Kafka's Java producer learns which records of a batch are invalid (KIP-467), and that none is stored."""

import subprocess
import time
from functools import cache

import pytest
from support.clients.foreign_clients import PROGRAMS
from support.clients.topics import create_topic
from support.processes.java_programs import java_program

TAKEN_DOWN = "KafkaException"
"""The client's exception for a valid record in a batch that was refused because of another record."""


@cache
def sender() -> tuple[str, ...]:
    return tuple(java_program(PROGRAMS / "batches" / "BatchSender.java"))


def send(servers: str, topic: str, codec: str, *records: str) -> list[tuple[str, str]]:
    """Returns the result of each record (offset or exception name) and the other output."""
    command = [*sender(), servers, topic, codec, *records]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line.partition(": ") for line in done.stdout.splitlines()]
    return [(head, tail) for head, _, tail in lines]


@pytest.mark.parametrize("codec", [pytest.param("none", marks=pytest.mark.long), "zstd"])
def test_records_without_key_are_named_on_a_compacted_topic(servers: str, topic: str, codec: str) -> None:
    create_topic(servers, topic, 1, {"cleanup.policy": "compact"})
    answers = send(servers, topic, codec, "a@", "@", "b@", "@", "c@")
    at_fault = "InvalidRecordException"
    assert [name for name, _ in answers] == [TAKEN_DOWN, at_fault, TAKEN_DOWN, at_fault, TAKEN_DOWN]
    assert all("without key" in said for name, said in answers if name == at_fault)
    one = send(servers, topic, codec, "a@", "b@", "@")
    assert [name for name, _ in one] == [TAKEN_DOWN, TAKEN_DOWN, at_fault]
    assert send(servers, topic, codec, "a@", "b@") == [("offset 0", ""), ("offset 1", "")]


@pytest.mark.parametrize("codec", ["none", pytest.param("zstd", marks=pytest.mark.long)])
def test_records_with_timestamp_out_of_range_are_named(servers: str, topic: str, codec: str) -> None:
    create_topic(servers, topic, 1, {"message.timestamp.before.max.ms": "3600000"})
    now_ms = time.time_ns() // 1_000_000
    old = f"a@{now_ms - 7_200_000}"
    answers = send(servers, topic, codec, f"a@{now_ms}", old, f"a@{now_ms}", old)
    assert [name for name, _ in answers] == [TAKEN_DOWN, "InvalidRecordException"] * 2
    # With a single invalid record the client can tell the exact exception.
    answers = send(servers, topic, codec, f"a@{now_ms}", old)
    assert [name for name, _ in answers] == [TAKEN_DOWN, "InvalidTimestampException"]
    assert str(now_ms - 7_200_000) in answers[1][1]
    assert send(servers, topic, codec, f"a@{now_ms}") == [("offset 0", "")]
