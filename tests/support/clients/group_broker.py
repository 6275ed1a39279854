"""Fixtures of a broker in this process, whose groups rebalance without the delay for a group's first members."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

import pytest
from pybroker import Broker
from support.clients.commands import Pybroker
from support.clients.produced import Produced, produce

__all__ = ["addresses", "filled", "group", "http", "servers"]

_SETTINGS = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "pybroker.http.listeners": "HTTP://127.0.0.1:0",
    "log.retention.ms": "-1",
}
_NUMBERS = count()


@dataclass(frozen=True)
class Addresses:
    """``http``: where the documents under /v1 are."""

    servers: str
    http: str


@pytest.fixture(scope="module")
def addresses() -> Iterator[Addresses]:
    with Broker(_SETTINGS) as broker:
        assert broker.http_url is not None
        yield Addresses(broker.bootstrap_servers, broker.http_url)


@pytest.fixture
def servers(addresses: Addresses) -> str:
    return addresses.servers


@pytest.fixture
def http(addresses: Addresses) -> str:
    return addresses.http


@pytest.fixture
def group() -> str:
    """Returns an unused name of a group."""
    return f"group-{next(_NUMBERS)}"


@pytest.fixture
def filled(pybroker: Pybroker, servers: str, topic: str) -> Callable[..., str]:
    """Makes a topic with records of these timestamps in each of its partitions; returns its name."""

    def fill(partitions: int, timestamps: list[int]) -> str:
        assert pybroker("topics", "create", topic, "-p", str(partitions)).code == 0
        produce(
            servers,
            [
                Produced(topic, partition, -1, timestamp, None, b"value")
                for partition in range(partitions)
                for timestamp in timestamps
            ],
        )
        return topic

    return fill
