"""Tests a broker with a thousand connections, of which two hundred are active, and with stock clients among them.

Asserts counts and states; latencies are printed in the summary, and judged by ``scripts/bench``.
"""

import json
import os
import resource
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer
from confluent_kafka.admin import NewTopic  # type: ignore[attr-defined]
from load.wire_load import MESSAGES_A_REQUEST, PARTITIONS, REQUESTS_A_SECOND, WORKING
from support.clients.topics import admin_client
from support.processes.broker_process import BrokerProcess

CONNECTIONS = 1000
TESTS = Path(__file__).resolve().parents[1]
DESCRIPTORS_NEEDED = CONNECTIONS + 500


class StockClients:
    """A librdkafka producer and a group of two consumers. ``run`` returns when everything sent has been received."""

    def __init__(self, servers: str, messages: int) -> None:
        self.failures: list[str] = []
        self.received: Counter[bytes] = Counter()
        self._servers = servers
        self._messages = messages
        self._lock = threading.Lock()
        self._done = threading.Event()
        self._assigned = threading.Barrier(3)

    def run(self) -> None:
        admin = admin_client(self._servers)
        admin.create_topics([NewTopic("stock", 2, 1)])["stock"].result()
        threads = [threading.Thread(target=self._consume) for _ in range(2)]
        for thread in threads:
            thread.start()
        self._assigned.wait()
        self._produce()
        for thread in threads:
            thread.join()

    def _produce(self) -> None:
        producer = Producer({"bootstrap.servers": self._servers, "enable.idempotence": True, "linger.ms": 5})
        for number in range(self._messages):
            producer.produce("stock", b"%d" % number, partition=number % 2, on_delivery=self._delivered)
            producer.poll(0.01)
        producer.flush()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failures.append(str(error))

    def _consume(self) -> None:
        settings = {"bootstrap.servers": self._servers, "group.id": "stock", "auto.offset.reset": "earliest"}
        consumer = Consumer(settings)
        consumer.subscribe(["stock"])
        while len(consumer.assignment()) != 1:  # of two: the other one is there too
            self._take(consumer.poll(0.1))
        self._assigned.wait()
        while not self._done.is_set():
            self._take(consumer.poll(0.1))
        consumer.close()

    def _take(self, message: Message | None) -> None:
        if message is None:
            return
        with self._lock:
            if message.error() is not None:
                self.failures.append(str(message.error()))
            else:
                self.received[message.value() or b""] += 1
            if self.received.total() + len(self.failures) >= self._messages:
                self._done.set()


def run_wire_load(servers: str, seconds: int) -> dict[str, Any]:
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, str(TESTS / "load" / "wire_load.py"), servers, str(CONNECTIONS), str(seconds)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    outcome: dict[str, Any] = json.loads(done.stdout)
    return outcome


@pytest.mark.skipif(
    resource.getrlimit(resource.RLIMIT_NOFILE)[1] < DESCRIPTORS_NEEDED,
    reason=f"needs {DESCRIPTORS_NEEDED} open files (ulimit -Hn)",
)
@pytest.mark.timeout(1800)  # on a busy machine the clients fall behind their schedule, and all of it is sent
@pytest.mark.parametrize("seconds", [10, pytest.param(60, marks=pytest.mark.long)])
def test_thousand_connections_lose_and_repeat_no_message(
    seconds: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    with BrokerProcess(tmp_path) as broker:
        stock = StockClients(broker.bootstrap_servers, 100 * seconds)
        beside = threading.Thread(target=stock.run)
        beside.start()
        outcome = run_wire_load(broker.bootstrap_servers, seconds)
        beside.join()
    messages = PARTITIONS * seconds * REQUESTS_A_SECOND * MESSAGES_A_REQUEST
    record_property("p50_ms", outcome["p50_ms"])
    record_property("p99_ms", outcome["p99_ms"])
    assert outcome["errors"] == []
    assert outcome["idle_alive"] == CONNECTIONS - WORKING
    assert (outcome["lost"], outcome["twice"], outcome["out_of_order"]) == (0, 0, 0)
    assert outcome["sent"] == messages * WORKING // 2 // PARTITIONS
    assert outcome["received"] == outcome["sent"] * WORKING // 2 // PARTITIONS
    assert stock.failures == []
    assert len(stock.received) == 100 * seconds
    assert set(stock.received.values()) == {1}
    assert "ERROR" not in broker.output
