"""As a release of Kafka 4, pybroker answers in the newest versions as that Kafka does."""

from pathlib import Path

import pytest
from pybroker import Broker
from support.newest_versions import answers_of, recorded_answers
from support.processes.kafka_versions import started_kafka

VERSION = "4.2.0"
OTHER_TEXTS = {
    # pybroker names the brokers that are not alive; a controller of Kafka 4 knows which are registered.
    "AlterPartitionReassignments 1 to more replicas": 39,
    "AlterPartitionReassignments 1 to no replica": 39,
    "AlterPartitionReassignments 1 to a cancelled move": 85,
}
"""Questions whose answers differ in a text alone, with their codes."""


def test_answers_in_the_newest_versions_equal_those_of_a_running_kafka() -> None:
    with Broker({"pybroker.as.version": "4.2", "offsets.topic.num.partitions": "1"}) as broker:
        ours = answers_of(broker.bootstrap_servers)
    recorded = recorded_answers(VERSION)
    assert list(ours) == list(recorded)
    for question, answer in recorded.items():
        if question in OTHER_TEXTS:
            assert code_of(ours[question]) == code_of(answer) == OTHER_TEXTS[question]
        else:
            assert ours[question] == answer, question


@pytest.mark.long
def test_recorded_answers_are_those_of_a_running_kafka(tmp_path: Path) -> None:
    with started_kafka(VERSION, tmp_path) as servers:
        assert answers_of(servers) == recorded_answers(VERSION)


def code_of(answer: dict[str, list[dict[str, list[dict[str, int]]]]]) -> int:
    """The code of the only partition."""
    return answer["responses"][0]["partitions"][0]["errorCode"]
