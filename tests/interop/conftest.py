"""Real clients against a real broker process. ``--against-kafka`` runs the same tests against Apache Kafka 3.9.1,
which is how a test shows that what it expects is what Kafka does."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from support.processes.started_broker import Broker, StartBroker, started_broker

TOPIC_NUMBERS = count()


@pytest.fixture(scope="session")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One broker for all tests of a worker; each test has topics and groups of its own."""
    against_kafka = request.config.getoption("--against-kafka")
    with started_broker(tmp_path_factory.mktemp("broker"), {}, against_kafka=against_kafka) as broker:
        yield broker


@pytest.fixture
def start_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StartBroker]:
    """Starts the test's own broker with settings of its own; it is stopped with the test."""
    with ExitStack() as stack:
        against_kafka = request.config.getoption("--against-kafka")
        yield lambda settings: stack.enter_context(started_broker(tmp_path, settings, against_kafka=against_kafka))


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
