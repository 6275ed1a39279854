"""Tests that a running broker responds as declared, and without internal error, to any request of valid types."""

import logging
import socket
import struct
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pybroker import Broker
from pybroker.broker.metadata.address import Address
from pybroker.broker.requests.group_features import SHARE_GROUP_APIS
from pybroker.protocol.apis import API_SPECS, ApiKey, Listener
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from support.fuzzing.frames import ReadFrame, build_frame, tame
from support.fuzzing.fuzzer import served_versions
from support.fuzzing.oracle import Oracle
from support.fuzzing.traced_process import SETTINGS
from support.random_messages import messages

BETWEEN_BROKERS = {
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.ALTER_PARTITION,
    ApiKey.ENVELOPE,
    ApiKey.ALLOCATE_PRODUCER_IDS,
}
KEYS = sorted(
    {key for key, spec in API_SPECS.items() if Listener.ZK_BROKER in spec.listeners} - BETWEEN_BROKERS
    | {ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.LIST_CLIENT_METRICS_RESOURCES, *SHARE_GROUP_APIS}
)
QUICK = settings(max_examples=8, suppress_health_check=list(HealthCheck))
LONG = settings(QUICK, max_examples=2000, derandomize=False)
CORRELATION_IDS = count(1)


class Client:
    """Sends one frame and reads one response at a time; reconnects after the broker closed the connection."""

    def __init__(self, servers: str) -> None:
        self._address = Address.parse(servers)
        self._socket: socket.socket | None = None

    def ask(self, *frames: bytes) -> bytes | None:
        """The first response; None when the connection was closed."""
        if self._socket is None:
            self._socket = socket.create_connection((self._address.host, self._address.port))
        self._socket.sendall(b"".join(struct.pack(">i", len(frame)) + frame for frame in frames))
        start = self._read(4)
        if not start:
            self.close()
            return None
        return self._read(int.from_bytes(start, "big"))

    def _read(self, size: int) -> bytes:
        assert self._socket is not None
        data = bytearray()
        while len(data) < size and (piece := self._socket.recv(size - len(data))):
            data += piece
        assert len(data) in (0, size), "the connection was closed in the middle of an answer"
        return bytes(data)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


class Errors(logging.Handler):
    """A log handler that keeps records with a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info:
            self.records.append(record)


class Served(NamedTuple):
    client: Client
    oracle: Oracle
    errors: Errors
    versions: dict[int, range]


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    errors = Errors()
    logging.getLogger().addHandler(errors)
    # Do not create random topics.
    with Broker({**SETTINGS, "auto.create.topics.enable": "false"}) as broker:
        versions = served_versions(broker.bootstrap_servers)
        client = Client(broker.bootstrap_servers)
        yield Served(client, Oracle(versions), errors, versions)
        client.close()
        assert broker.is_running
    logging.getLogger().removeHandler(errors)


def check(served: Served, data: st.DataObject, key: ApiKey) -> None:
    version = data.draw(st.sampled_from(served.versions[key]), label="version")
    message = data.draw(messages(API_SPECS[key].request_type(), version), label="request")
    frame = tame(ReadFrame.read(build_frame(message, version, next(CORRELATION_IDS))))
    assert frame.message is not None
    if frame.expects_no_answer:
        ping = ReadFrame.read(build_frame(ApiVersionsRequest(), 0, next(CORRELATION_IDS)))
        answer, answered = served.client.ask(frame.data, ping.data), ping
    else:
        answer, answered = served.client.ask(frame.data), frame
    if answer is None:
        assert served.oracle.judge_close(frame) == ""
    else:
        assert served.oracle.judge_answer(answered, answer)[1] == ""
    assert [record.getMessage() for record in served.errors.records] == []


def test_every_api_that_is_served_is_tried(served: Served) -> None:
    assert set(KEYS) == set(served.versions)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_requests_of_any_content_are_answered(served: Served, key: ApiKey) -> None:
    QUICK(given(st.data())(lambda data: check(served, data, key)))()


@pytest.mark.long
@pytest.mark.timeout(0)
@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_many_more_requests_of_any_content_are_answered(served: Served, key: ApiKey) -> None:
    LONG(given(st.data())(lambda data: check(served, data, key)))()
