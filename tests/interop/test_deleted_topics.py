"""Tests of deleting topics while clients produce to them and consume from them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.clients.topics import create_topic
from support.clients.traffic import ConfluentTraffic, KafkaPythonTraffic, Traffic
from support.clients.wire_client import WireClient
from support.processes.broker_or_kafka import StartedBroker, broker_or_kafka, complaints

# librdkafka's errors for undeliverable records; kafka-python looks for the topic until its timeout.
UNKNOWN = {"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "KafkaTimeoutError"}


def topic_id(servers: str, topic: str) -> UUID | None:
    """Returns the topic's id; None if it does not exist."""
    with WireClient(servers) as client:
        asked = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
        (found,) = client.ask(asked, 12).topics
    return None if found.error_code else found.topic_id


def delete(servers: str, topic: str) -> int:
    """Deletes the topic; returns the error code."""
    with WireClient(servers) as client:
        (answer,) = client.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000), 5).responses
    return int(answer.error_code)


def directories(broker: StartedBroker, topic: str) -> list[str]:
    return sorted(entry.name for entry in broker.log_directory.iterdir() if entry.name.startswith(f"{topic}-"))


def renamed(broker: StartedBroker, topic: str) -> int:
    """Returns the number of partition directories renamed for deletion."""
    pattern = re.compile(rf"renamed to \S*{topic}-\d+\.[0-9a-f]{{32}}-delete")
    return sum(bool(pattern.search(line)) for line in broker.lines)


@contextmanager
def bystander(broker: StartedBroker) -> Iterator[Traffic]:
    """A client of another topic, which must not notice anything."""
    create_topic(broker.bootstrap_servers, "bystander", 1)
    with KafkaPythonTraffic(broker.bootstrap_servers, "bystander", "group-of-bystander") as traffic:
        yield traffic
        traffic.wait_for_more(10)
    assert not traffic.refused
    offsets = [place.offset for _, place in traffic.acknowledged]
    assert offsets == list(range(len(offsets)))
    assert traffic.read == traffic.acknowledged[: len(traffic.read)]


@pytest.mark.parametrize("client", [KafkaPythonTraffic, pytest.param(ConfluentTraffic, marks=pytest.mark.long)])
def test_topic_in_use_can_be_deleted_and_created_again(
    client: type[Traffic], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    settings = {"auto.create.topics.enable": "false", "log.segment.delete.delay.ms": "500"}
    with broker_or_kafka(request.config, tmp_path, settings) as broker, bystander(broker) as other:
        servers = broker.bootstrap_servers
        create_topic(servers, "doomed", 2)
        first = topic_id(servers, "doomed")
        with client(servers, "doomed", "group-of-doomed", gives_up=True) as traffic:
            traffic.wait_for_more(50)
            assert delete(servers, "doomed") == 0
            traffic.wait_until(lambda: len(traffic.refused) >= 2)
            traffic.wait_until(lambda: not directories(broker, "doomed"))
            assert renamed(broker, "doomed") == 2
            assert topic_id(servers, "doomed") is None
            other.wait_for_more(50)
            last = int(traffic.acknowledged[-1][0])
            create_topic(servers, "doomed", 2)
            assert topic_id(servers, "doomed") not in (None, first)
            traffic.wait_for_more(50)
        assert set(traffic.read) <= set(traffic.acknowledged)
        assert set(traffic.refused) <= UNKNOWN
        anew = [place for value, place in traffic.acknowledged if int(value) > last]
        for partition in (0, 1):
            offsets = [place.offset for place in anew if place.partition == partition]
            assert offsets == list(range(len(offsets)))
        assert not complaints(broker)


@pytest.mark.parametrize("client", [pytest.param(KafkaPythonTraffic, marks=pytest.mark.long), ConfluentTraffic])
def test_topic_in_use_that_clients_recreate_can_be_deleted_repeatedly(
    client: type[Traffic], request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    settings = {"log.segment.delete.delay.ms": "100"}
    with broker_or_kafka(request.config, tmp_path, settings) as broker, bystander(broker):
        servers = broker.bootstrap_servers
        ids = []
        with client(servers, "doomed", "group-of-doomed") as traffic:
            for _ in range(3):
                traffic.wait_for_more(50)
                ids.append(topic_id(servers, "doomed"))
                assert delete(servers, "doomed") == 0
            traffic.wait_for_more(50)
            ids.append(topic_id(servers, "doomed"))
        assert set(traffic.read) <= set(traffic.acknowledged)
        assert len(set(ids) - {None}) == 4
        assert renamed(broker, "doomed") == 3
        assert not complaints(broker)
