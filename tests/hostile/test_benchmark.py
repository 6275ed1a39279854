"""Tests of the meter and the noise check behind ``scripts/bench --only hostile``."""

import socket
import struct
from pathlib import Path

import pytest
from benchmarks import metered_broker
from benchmarks.noise import noise_of, verdict
from pybroker.protocol.codec import Message
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.good_client import create_topic, produce_request
from support.clients.wire_client import WireClient
from support.processes.arena import frame_of
from support.processes.broker_process import BrokerProcess

from .test_batches import good_batch


class UnmeteredClient:
    """A client that is not metered. Once it has its response, all earlier requests have been counted."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))

    def ask(self, request: Message, version: int) -> None:
        self._socket.sendall(frame_of(request, version))
        (size,) = struct.unpack(">i", self._socket.recv(4, socket.MSG_WAITALL))
        assert len(self._socket.recv(size, socket.MSG_WAITALL)) == size

    def close(self) -> None:
        self._socket.close()


def test_meter_counts_the_metered_clients_requests_and_the_time_of_delayed_responses(tmp_path: Path) -> None:
    meter = metered_broker.Meter(tmp_path / "meter")
    with BrokerProcess(tmp_path, command=metered_broker.command(tmp_path / "meter")) as broker:
        unmetered = UnmeteredClient(broker.port)
        with WireClient(broker.bootstrap_servers) as client:
            create_topic(client, "fetched")
            unmetered.ask(MetadataRequest(topics=[]), 12)
            before_ns, before = meter.read()
            for _ in range(10):
                client.ask(MetadataRequest(topics=[]), 12)
            for _ in range(5):
                unmetered.ask(MetadataRequest(topics=[]), 12)
            asked_ns, asked = meter.read()
            assert asked - before == 10
            assert asked_ns > before_ns

            wanted = FetchTopic(topic="fetched", partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])
            client.send(FetchRequest(max_wait_ms=2**31 - 1, min_bytes=1, session_epoch=-1, topics=[wanted]), 12)
            while meter.read()[1] == asked:
                unmetered.ask(MetadataRequest(topics=[]), 12)
            waiting_ns, waiting = meter.read()
            unmetered.ask(produce_request("fetched", bytes(good_batch(1))), 9)
            client.receive()
            unmetered.ask(MetadataRequest(topics=[]), 12)
            answered_ns, answered = meter.read()
            assert (waiting - asked, answered - waiting) == (1, 0)
            assert answered_ns > waiting_ns
        unmetered.close()


@pytest.mark.parametrize(
    ("ratio", "noise", "said"),
    [
        (1.0, 0.0, "yes"),
        (2.0, 0.1, "yes"),
        (2.1, 0.1, "**no**"),
        (1.1, 0.5, "yes"),
        (1.5, 0.5, "noise"),
        (2.9, 0.5, "noise"),
        (3.1, 0.5, "**no**"),
    ],
)
def test_verdict_that_noise_alone_could_have_decided_is_marked_as_noise(ratio: float, noise: float, said: str) -> None:
    assert verdict(ratio, 2.0, noise) == said


def test_noise_is_the_largest_deviation_of_ratios_that_should_be_one() -> None:
    assert noise_of([]) == 0.0
    assert noise_of([1.0, 1.1]) == pytest.approx(0.1)
    assert noise_of([0.5, 1.1]) == pytest.approx(1.0)
