"""Tests of ``pybroker topics``."""

import re
from typing import Any

import pytest
from pybroker.cli.topics.shapes import Topic, TopicChange, TopicDescription
from pybroker.client.connection import Connection
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode, error_for
from pybroker.protocol.messages.describe_producers import DescribeProducersRequest
from support.clients.commands import Pybroker, rows_of
from support.clients.produced import numbered, produce


def test_created_topic_is_listed_and_described(pybroker: Pybroker, topic: str) -> None:
    created = pybroker("topics", "create", topic, "-p", "3", "-c", "retention.ms=1000")
    assert created.out.splitlines()[1].split() == [topic, "created"]
    listed = pybroker("topics", "list", topic)
    assert listed.out.splitlines()[1].split() == [topic, "3", "1", "ok"]
    described = pybroker("topics", "describe", topic, "-o", "wide").out.splitlines()
    assert re.fullmatch(f"{topic}: 3 partitions, 1 replica, min ISR 1, id [-_A-Za-z0-9]{{22}}", described[0])
    assert described[1] == "  retention.ms=1000"
    assert [line.split()[0] for line in described[3:]] == ["0", "1", "2"]


def test_json_has_the_documented_shapes(pybroker: Pybroker, topic: str) -> None:
    (change,) = rows_of(pybroker("topics", "create", topic, "-o", "json").out, TopicChange)
    assert change == {"topic": topic, "change": "created", "is_dry_run": False}
    (row,) = rows_of(pybroker("topics", "list", topic, "-o", "json").out, Topic)
    assert row["topic"] == topic
    (description,) = rows_of(pybroker("topics", "describe", topic, "-o", "json").out, TopicDescription)
    assert len(description["partitions"]) == row["partitions"]


def test_dry_run_changes_nothing(pybroker: Pybroker, topic: str) -> None:
    assert "would be created" in pybroker("topics", "create", topic, "--dry-run").out
    assert pybroker("topics", "describe", topic).code == 3
    pybroker("topics", "create", topic)
    assert "would be deleted" in pybroker("topics", "delete", topic, "--dry-run").out
    assert pybroker("topics", "describe", topic).code == 0


def test_existing_topic_is_an_error_unless_allowed(pybroker: Pybroker, topic: str) -> None:
    pybroker("topics", "create", topic)
    again = pybroker("topics", "create", topic, f"{topic}-new")
    assert again.code == 1
    assert f"topic {topic}: " in again.err
    assert "TOPIC_ALREADY_EXISTS" in again.err
    assert f"{topic}-new" in again.out, "the other topic is created"
    allowed = pybroker("topics", "create", topic, "--if-not-exists")
    assert (allowed.code, allowed.out.split()[-1]) == (0, "unchanged")


def test_missing_topic_is_named_with_a_suggestion(pybroker: Pybroker, topic: str) -> None:
    pybroker("topics", "create", topic)
    ran = pybroker("topics", "describe", f"{topic}x")
    assert ran.code == 3
    assert f"topic {topic}x does not exist; did you mean " in ran.err


def test_typing_error_deletes_no_topic(pybroker: Pybroker, topic: str) -> None:
    pybroker("topics", "create", topic)
    assert pybroker("topics", "delete", topic, f"{topic}x", "--yes").code == 3
    assert pybroker("topics", "describe", topic).code == 0
    assert pybroker("topics", "delete", topic, f"{topic}x", "--yes", "--if-exists").code == 0
    assert pybroker("topics", "describe", topic).code == 3


@pytest.mark.parametrize("option", ["--under-replicated", "--unavailable"])
def test_list_of_troubled_topics_leaves_out_healthy_ones(pybroker: Pybroker, topic: str, option: str) -> None:
    pybroker("topics", "create", topic)
    ran = pybroker("topics", "list", option, topic)
    assert (ran.code, ran.out, ran.err) == (0, "", "no topic matches\n")


def test_setting_without_a_value_is_refused(pybroker: Pybroker, topic: str) -> None:
    ran = pybroker("topics", "create", topic, "-c", "retention.ms")
    assert (ran.code, ran.err) == (2, "pybroker: retention.ms: must be NAME=VALUE\n")


def test_described_parts_are_the_parts_that_were_asked_for(servers: str, pybroker: Pybroker, topic: str) -> None:
    pybroker("topics", "create", topic, "-p", "2", "-c", "retention.ms=-1", "--wait")
    produce(servers, numbered(topic, [1], 3), enable_idempotence="true")
    pybroker("groups", "reset", topic, "--to", "1", "--topics", f"{topic}:1", "--execute")

    def shown(*options: str) -> list[list[str]]:
        return [line.split() for line in pybroker("topics", "describe", topic, *options).out.splitlines()[1:]]

    configs, partitions = shown("--configs"), shown("--partitions")
    assert configs == [["retention.ms=-1"]]
    assert [line[0] for line in partitions] == ["PARTITION", "0", "1"]
    assert shown() == configs + partitions
    assert shown("--consumers")[1:] == [[topic, "1", "1", "3", "2"]]
    (producer,) = shown("--producers")[1:]
    assert (producer[0], producer[2], producer[3], producer[-1]) == ("1", "0", "2", "-")
    (whole,) = rows_of(pybroker("topics", "describe", topic, "--consumers", "-o", "json").out, TopicDescription)
    assert whole["consumers"] == [{"group": topic, "partition": 1, "committed": 1, "end": 3, "lag": 2}]
    assert whole["producers"] is None
    assert len(whole["partitions"]) == 2


def test_topic_without_clients_says_so(pybroker: Pybroker, topic: str) -> None:
    pybroker("topics", "create", topic, "--wait")
    described = pybroker("topics", "describe", topic, "--consumers", "--producers")
    assert described.out.splitlines()[1:] == [
        "  no group has committed an offset",
        "  the leaders remember no producer",
    ]


def test_producers_that_a_leader_does_not_tell_are_no_missing_producers(
    pybroker: Pybroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pybroker("topics", "create", topic, "--wait")
    ask = Connection.ask

    def old_broker(connection: Connection, request: Message) -> Any:
        if isinstance(request, DescribeProducersRequest):
            raise error_for(ErrorCode.UNSUPPORTED_VERSION, "an old broker")
        return ask(connection, request)

    monkeypatch.setattr(Connection, "ask", old_broker)
    described = pybroker("topics", "describe", topic, "--producers")
    assert (described.code, described.err) == (1, "pybroker: an old broker (UNSUPPORTED_VERSION)\n")
    assert len(described.out.splitlines()) == 1
