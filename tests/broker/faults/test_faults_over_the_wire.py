"""Each fault on each API that a broker serves, as a client sees it on the wire."""

import select
import socket
import struct
import time
from collections.abc import Iterator
from typing import Any, BinaryIO

import pytest
from pybroker import Broker
from pybroker.broker.faults.effects import Break, Way
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.clients.wire_frames import request_frame
from support.faults.requests_to_fault import SETTINGS, TOPICS, request_to_fault
from support.in_process.served_apis import error_codes, served_apis
from support.load.request_of_each_api import plain_request

CODE = ErrorCode.POLICY_VIOLATION
"""No API answers these requests with it by itself."""
CLIENT = "wire"
LONG_MS = 3_600_000


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS) as broker, WireClient(broker.bootstrap_servers) as client:
        response = client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=TOPICS, timeout_ms=60_000), 5)
        assert not any(error_codes(response, 5))
        yield broker


@pytest.fixture
def client(broker: BlockingBroker) -> Iterator[WireClient]:
    with WireClient(broker.bootstrap_servers, 20) as client:
        yield client
    assert broker.faults.all() == []


def a_request(key: ApiKey) -> tuple[Any, int]:
    """A request with at least one item, and its version."""
    found = request_to_fault(key)
    assert found is not None, key
    return found


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


@pytest.mark.parametrize("is_delay", [False, True], ids=["hang", "delay"])
@pytest.mark.parametrize("key", served_apis(), ids=lambda key: key.name)
def test_request_of_each_api_waits_with_the_next_one_until_the_fault_is_removed(
    broker: BlockingBroker, client: WireClient, key: ApiKey, is_delay: bool
) -> None:
    request, version = a_request(key)
    behind = ApiKey.METADATA if key is ApiKey.API_VERSIONS else ApiKey.API_VERSIONS
    faults, name = broker.faults, API_SPECS[key].name
    with (
        faults.delay(name, LONG_MS, times=1) if is_delay else faults.hang(name, times=1) as fault,
        socket.create_connection(address_of(broker), 20) as peer,
    ):
        peer.sendall(request_frame(request, version, 7, CLIENT))
        fault.wait_fired(1, 20)
        peer.sendall(request_frame(plain_request(behind), 0, 8, CLIENT))
        client.ask(plain_request(behind), 0)
        assert not select.select([peer], [], [], 0)[0], "nothing is answered"
        fault.remove()
        with peer.makefile("rb") as responses:
            assert [correlation_id_of(responses) for _ in range(2)] == [7, 8]
        assert fault.fired == 1


def correlation_id_of(responses: BinaryIO) -> int:
    """Reads the next response."""
    size, correlation_id = struct.unpack(">ii", responses.read(8))
    responses.read(size - 4)
    return int(correlation_id)


def test_delayed_request_starts_when_its_time_is_over(broker: BlockingBroker, client: WireClient) -> None:
    with broker.faults.delay("ApiVersions", 30, jitter_ms=5) as fault:
        began_s = time.monotonic()
        client.ask(plain_request(ApiKey.API_VERSIONS), 0)
        assert time.monotonic() - began_s >= 0.03
        assert fault.fired == 1


@pytest.mark.parametrize("key", served_apis(), ids=lambda key: key.name)
def test_client_of_each_api_with_a_throttle_time_is_told_it_and_read_no_further(
    broker: BlockingBroker, key: ApiKey
) -> None:
    request, version = a_request(key)
    spec = API_SPECS[key]
    field = next((each for each in spec.response_type().SCHEMA.fields if each.name == "throttle_time_ms"), None)
    if field is None:
        with pytest.raises(ValueError, match=f"{spec.name} responses have no throttle time"):
            broker.faults.throttle(spec.name, LONG_MS)
        return
    with broker.faults.throttle(spec.name, LONG_MS) as fault, WireClient(broker.bootstrap_servers, 20) as throttled:
        response = throttled.ask(request, version)
        assert fault.fired == 1
        assert response.throttle_time_ms == (LONG_MS if version in field.versions else 0)
        assert ReadPause.THROTTLED in pauses_of(broker)


def pauses_of(broker: BlockingBroker) -> ReadPause:
    """Why the newest connection is not read."""
    server = broker._broker._server
    assert server is not None
    assert server._listeners is not None
    return server._listeners.connections()[-1].read_pause


def test_fault_that_its_request_cannot_have_is_refused(broker: BlockingBroker) -> None:
    with pytest.raises(ValueError, match="throttle needs one API"):
        broker.faults.throttle("*", 1)
    with pytest.raises(ValueError, match="Fetch requests name no group"):
        broker.faults.corrupt(group="g")


def address_of(broker: BlockingBroker) -> tuple[str, int]:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return host, int(port)
