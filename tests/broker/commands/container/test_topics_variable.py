"""The variable KAFKA_CREATE_TOPICS: how its topics are read, and that the broker has them when it is ready."""

import logging
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.base.command_parser import CommandError
from pybroker.broker.commands.container.topics_variable import topics_to_create
from pybroker.broker.environment import Environment
from pybroker.broker.process.first_topics import FirstTopics
from pybroker.broker.server import BrokerServer
from pybroker.config.load import load_config
from pybroker.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig
from support.examples import examples

NAMES = st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True)
COUNTS = st.none() | st.integers(1, 0x7FFF)
POLICIES = st.sampled_from(["", "compact", "delete"])
TOPICS = st.lists(st.tuples(NAMES, COUNTS, COUNTS, POLICIES), unique_by=lambda each: each[0])
PARTITIONS = {"orders-0", "orders-1", "orders-2"}


def read(text: str) -> list[CreatableTopic]:
    return topics_to_create({"KAFKA_CREATE_TOPICS": text})


@settings(max_examples=examples(40))
@given(TOPICS, st.sampled_from([",", " ,\n"]))
def test_topics_are_read_with_their_counts_and_policy(
    topics: list[tuple[str, int | None, int | None, str]], comma: str
) -> None:
    text = comma.join(":".join(str(part or "") for part in topic) for topic in topics)
    assert read(text) == [
        CreatableTopic(
            name=name,
            num_partitions=partitions or -1,
            replication_factor=replicas or -1,
            configs=[CreatableTopicConfig(name="cleanup.policy", value=policy)] if policy else [],
        )
        for name, partitions, replicas, policy in topics
    ]


def test_counts_may_be_left_out() -> None:
    topic = CreatableTopic(name="a", num_partitions=-1, replication_factor=-1)
    assert [read(text) for text in ("a", "a:", "a::", "a:::")] == [[topic]] * 4
    assert read("") == topics_to_create({}) == []


@pytest.mark.parametrize(
    "text", ["a:0", "a:-1", "a:many:1", "a:1:0", "a:1:40000", ":1:1", "a:1:1,a:2:1", "a:٣", "a:9999999999"]
)
def test_bad_topics_are_refused_in_one_line_with_the_name_of_the_variable(text: str) -> None:
    with pytest.raises(CommandError, match=r"^KAFKA_CREATE_TOPICS: .+$"):
        read(text)


async def test_broker_has_the_topics_when_it_is_ready_and_keeps_them_over_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = load_config("", {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path)})
    for _ in range(2):
        broker = BrokerServer(config, Environment())
        first = FirstTopics(broker, read("orders:3:1:compact,too-wide:1:5"))
        await broker.start()
        with caplog.at_level(logging.WARNING):
            await first.create()
        await broker.stop()
    refused = [record.getMessage() for record in caplog.records if "KAFKA_CREATE_TOPICS" in record.getMessage()]
    assert len(refused) == 2
    assert all(line.startswith("topic too-wide of KAFKA_CREATE_TOPICS not created: ") for line in refused)
    assert {name for name in os.listdir(tmp_path) if name.startswith(("orders-", "too-"))} == PARTITIONS
