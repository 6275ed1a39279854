"""Real clients against a real broker process. ``--against-kafka`` runs the same tests against Apache Kafka 3.9.1,
which is how a test shows that what it expects is what Kafka does."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest
from support.broker_process import BrokerProcess
from support.kafka_process import KafkaProcess, ZooKeeperProcess

TOPIC_NUMBERS = count()


class Broker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One broker for all tests of a worker; each test has topics and groups of its own."""
    directory = tmp_path_factory.mktemp("broker")
    if request.config.getoption("--against-kafka"):
        with_zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        kafka = KafkaProcess(directory / "kafka", with_zookeeper).start()
        yield kafka
        kafka.stop()
        with_zookeeper.kill()
    else:
        with BrokerProcess(directory) as process:
            yield process


@pytest.fixture
def servers(broker: Broker) -> str:
    return broker.bootstrap_servers


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test uses; the topic itself is made by whoever asks for it first."""
    return f"{Path(request.node.path).stem}-{next(TOPIC_NUMBERS)}"


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"
