"""Fixtures of a broker that all tests of a worker share; each test uses its own topics and groups."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from support.clients.produced import KEEPS_OLD_RECORDS
from support.processes.broker_process import BrokerProcess

__all__ = ["broker", "servers", "topic"]

_TOPIC_NUMBERS = count()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("broker"), KEEPS_OLD_RECORDS) as broker:
        yield broker


@pytest.fixture
def servers(broker: BrokerProcess) -> str:
    return broker.bootstrap_servers


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """Returns an unused topic name; the test creates the topic if it needs it."""
    return f"{Path(request.node.path).stem}-{next(_TOPIC_NUMBERS)}"
