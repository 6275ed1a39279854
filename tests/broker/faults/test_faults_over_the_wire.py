"""Each fault on each API that a broker serves, as a client sees it on the wire."""

import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest
from pybroker import Broker
from pybroker.broker.faults.effects import Break, Way
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.clients.wire_frames import request_frame
from support.in_process.rights_table import RIGHTS
from support.in_process.served_apis import error_codes, served_apis
from support.load.request_of_each_api import plain_request

CODE = ErrorCode.POLICY_VIOLATION
"""No API answers these requests with it by itself."""
SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
CLIENT = "wire"


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS) as broker, WireClient(broker.bootstrap_servers) as client:
        topics = [{"name": name, "num_partitions": 2, "replication_factor": 1} for name in ("records", "other")]
        response = client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=topics, timeout_ms=60_000), 5)
        assert not any(error_codes(response, 5))
        yield broker


@pytest.fixture
def client(broker: BlockingBroker) -> Iterator[WireClient]:
    with WireClient(broker.bootstrap_servers, 20) as client:
        yield client
    assert broker.faults.all() == []


def a_request(key: ApiKey) -> tuple[Any, int]:
    """A request with at least one item, and its version."""
    rows = RIGHTS[key]
    if isinstance(rows, str):
        return plain_request(key, **FIELDS_OF_OPEN.get(key, {})), API_SPECS[key].max_version
    row = next((row for row in rows if row.version >= FIRST_VERSION.get(key, 0)), None)
    assert row is not None, key
    return plain_request(key, **row.fields), row.version


FIELDS_OF_OPEN: dict[ApiKey, dict[str, Any]] = {ApiKey.CONSUMER_GROUP_DESCRIBE: {"group_ids": ["g"]}}
FIRST_VERSION = {ApiKey.DESCRIBE_LOG_DIRS: 3}
"""Earlier versions have no place for an error."""


@pytest.mark.parametrize("key", served_apis(), ids=lambda key: key.name)
def test_error_is_seen_in_the_response_of_each_api_and_counted(
    broker: BlockingBroker, client: WireClient, key: ApiKey
) -> None:
    request, version = a_request(key)
    with broker.faults.error(API_SPECS[key].name, CODE.name, client=CLIENT) as fault:
        response = client.ask(request, version)
        assert fault.fired == 1
        client.ask(request, version)
        assert fault.fired == 2
    codes = list(error_codes(response, version))
    assert CODE in codes
    assert set(codes) <= {CODE, 0}
    assert CODE not in error_codes(client.ask(request, version), version), "the fault has ended"


@pytest.mark.parametrize("key", served_apis(), ids=lambda key: key.name)
def test_connection_is_closed_without_the_response_of_each_api(broker: BlockingBroker, key: ApiKey) -> None:
    request, version = a_request(key)
    name = API_SPECS[key].name
    for fault in (
        broker.faults.drop_request(name, times=1),
        broker.faults.drop_response(name, times=1),
        broker.faults.cut_after(name, 6, times=1),
        broker.faults.reset(name, times=1),
    ):
        with fault, socket.create_connection(address_of(broker), 20) as peer:
            peer.sendall(request_frame(request, version, 7, CLIENT))
            received = bytearray()
            try:
                while data := peer.recv(100):
                    received += data
                was_reset = False
            except ConnectionResetError:
                was_reset = True
            fault.wait_fired(1, 20)
            assert isinstance(fault.effect, Break)
            assert was_reset == (fault.effect.way is Way.RESET)
            assert len(received) == (6 if fault.effect.way is Way.WITHIN else 0)
            if received:
                assert struct.unpack(">i", received[:4])[0] > 2, "the size is that of the whole response"


def address_of(broker: BlockingBroker) -> tuple[str, int]:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return host, int(port)
