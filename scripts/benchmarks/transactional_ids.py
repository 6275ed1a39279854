"""A row about very many transactional ids: `scripts/bench --only "transactional ids"`."""

import socket
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import decode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess
from support.time.deadline import wait_until

from benchmarks.contestants import Contestant, resident_mib
from benchmarks.scenarios import Scenario, wait_until_quiet
from benchmarks.storage_rows.starts import brokers
from benchmarks.targets import at_most
from benchmarks.waits import longest_wait_during
from benchmarks.wire import exchange

__all__ = ["TRANSACTIONAL_IDS"]

_IDS = 100_000
_CLIENTS = 4
_SAMPLE = 500
"""Ids whose coordinators are asked: enough for each of the 50 partitions to have some."""
_TIMEOUT_MS = 60_000
_TRANSACTION = 1
_RETRIED = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)

Broker = BrokerProcess | KafkaProcess


def connect(broker: Broker) -> socket.socket:
    return socket.create_connection(("127.0.0.1", broker.port))


def make_coordinators(broker: Broker) -> None:
    """Has the broker create `__transaction_state`."""
    request = FindCoordinatorRequest(key_type=_TRANSACTION, coordinator_keys=["any"])

    def are_found() -> bool:
        with connect(broker) as connection:
            answer = exchange(connection, ApiKey.FIND_COORDINATOR, 4, request)
        return decode(FindCoordinatorResponse, answer, 4).coordinators[0].error_code == ErrorCode.NONE

    wait_until(are_found, "the transaction coordinators")


def make_ids(broker: Broker, names: Sequence[str]) -> None:
    """Starts a producer of each id."""
    with connect(broker) as connection:
        for name in names:
            request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=_TIMEOUT_MS)
            while code := _started(connection, request):
                assert code in _RETRIED, ErrorCode(code)


def _started(connection: socket.socket, request: InitProducerIdRequest) -> int:
    answer = exchange(connection, ApiKey.INIT_PRODUCER_ID, 4, request)
    return decode(InitProducerIdResponse, answer, 4).error_code


def growth_mib(broker: Broker, names: Sequence[str]) -> float:
    """Returns the growth of the process by the ids, once it is idle."""
    make_coordinators(broker)
    wait_until_quiet(broker.pid)
    before_mib = resident_mib(broker.pid)
    with ThreadPoolExecutor(_CLIENTS) as clients:
        for done in [clients.submit(make_ids, broker, names[number::_CLIENTS]) for number in range(_CLIENTS)]:
            done.result()
    wait_until_quiet(broker.pid)
    return resident_mib(broker.pid) - before_mib


def restart(broker: Broker, names: Sequence[str]) -> dict[str, float]:
    """Measures from the start of the process until the coordinators of all ids answer, and the longest time that
    another client waits for a response meanwhile.
    """
    request = DescribeTransactionsRequest(transactional_ids=list(names[:: max(len(names) // _SAMPLE, 1)]))

    def are_loaded() -> bool:
        with connect(broker) as connection:
            answer = exchange(connection, ApiKey.DESCRIBE_TRANSACTIONS, 0, request)
        return not any(each.error_code for each in decode(DescribeTransactionsResponse, answer, 0).transaction_states)

    def seconds_to_load() -> float:
        wait_until(are_loaded, "the coordinators of all ids")
        return time.monotonic() - started

    started = time.monotonic()
    broker.begin()
    taken_s, longest_ms = longest_wait_during(broker.port, seconds_to_load)
    return {"s to load": taken_s, "longest wait ms": longest_ms}


def many_ids(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    names = [f"orders-{number:06d}-StreamThread-1" for number in range(int(_IDS * scale))]
    figures = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        zookeeper, both = brokers(Path(directory), {})
        for contestant in contestants:
            broker = both[contestant.name]
            broker.start()
            grown_mib = growth_mib(broker, names)
            broker.stop()
            figures[contestant.name] = {"MiB": grown_mib, **restart(broker, names)}
            broker.kill()
        zookeeper.kill()
    return figures


TRANSACTIONAL_IDS = (
    Scenario(
        "100,000 transactional ids: memory, and load at a start",
        (at_most("MiB", 150), at_most("s to load", 5), at_most("longest wait ms", 50)),
        many_ids,
    ),
)
