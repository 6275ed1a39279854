"""Fixtures with real clients and a real broker process.

`--against-kafka` runs the same tests against Apache Kafka 3.9.1, which shows that their expectations are Kafka's
behaviour.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from support.processes.started_broker import Broker, StartBroker, started_broker

TOPIC_NUMBERS = count()


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker that all tests of a worker share; each test uses its own topics and groups."""
    against_kafka = request.config.getoption("--against-kafka")
    with started_broker(tmp_path_factory.mktemp("broker"), {}, against_kafka=against_kafka) as broker:
        yield broker


@pytest.fixture
def start_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartBroker]:
    """Starts a broker with its own settings for this test; it is stopped with the test."""
    with ExitStack() as stack:
        against_kafka = request.config.getoption("--against-kafka")
        yield lambda settings: stack.enter_context(started_broker(tmp_path, settings, against_kafka=against_kafka))


@pytest.fixture
def servers(broker: Broker) -> str:
    return broker.bootstrap_servers


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """Returns an unused topic name; the first request creates the topic."""
    return f"{Path(request.node.path).stem}-{next(TOPIC_NUMBERS)}"


@pytest.fixture
def group(topic: str) -> str:
    return f"group-of-{topic}"
