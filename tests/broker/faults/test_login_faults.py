"""Each fault on each request of a login: ApiVersions, SaslHandshake and SaslAuthenticate."""

import socket
from collections.abc import Callable, Iterator

import pytest
from kafka import KafkaAdminClient
from pybroker import Broker
from pybroker.broker.faults.fault import Fault
from pybroker.broker.faults.faults import Faults
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.load.request_of_each_api import plain_request

STEPS: list[tuple[str, Message, int]] = [
    ("ApiVersions", plain_request(ApiKey.API_VERSIONS), 0),
    ("SaslHandshake", plain_request(ApiKey.SASL_HANDSHAKE, mechanism="PLAIN"), 1),
    ("SaslAuthenticate", plain_request(ApiKey.SASL_AUTHENTICATE, auth_bytes=b"\0u\0p"), 1),
]
NUMBERS = range(len(STEPS))
NAMES = [name for name, *_ in STEPS]


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(users={"u": "p"}) as broker:
        yield broker


@pytest.fixture
def client(broker: BlockingBroker) -> Iterator[WireClient]:
    with WireClient(broker.bootstrap_servers, 20) as client:
        yield client
    assert broker.faults.all() == []


def log_in(client: WireClient, first: int = 0, last: int = len(STEPS)) -> None:
    for _, request, version in STEPS[first:last]:
        assert client.ask(request, version).error_code == 0


def topics_are_listed(client: WireClient) -> bool:
    return bool(client.ask(plain_request(ApiKey.METADATA), 1).controller_id >= 0)


def logins(broker: BlockingBroker) -> int:
    server = broker._broker._server
    assert server is not None
    assert server._listeners is not None
    return sum(each.logins_succeeded for each in server._listeners.counters.values())


@pytest.mark.parametrize("number", NUMBERS, ids=NAMES)
def test_error_is_the_response_and_ends_a_login(broker: BlockingBroker, client: WireClient, number: int) -> None:
    name, request, version = STEPS[number]
    log_in(client, last=number)
    before = logins(broker)
    with broker.faults.error(name, "ILLEGAL_SASL_STATE", client="wi*") as fault:
        assert client.ask(request, version).error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert fault.fired == 1
    assert logins(broker) == before, "the request is not carried out"
    if name == "ApiVersions":
        log_in(client)
        assert topics_are_listed(client)
    else:
        with pytest.raises((AssertionError, OSError)):
            client.ask(request, version)


@pytest.mark.parametrize(
    ("fault_of", "is_carried_out"),
    [
        (lambda faults, name: faults.drop_request(name), False),
        (lambda faults, name: faults.reset(name), False),
        (lambda faults, name: faults.drop_response(name), True),
        (lambda faults, name: faults.cut_after(name, 6), True),
    ],
    ids=["drop_request", "reset", "drop_response", "cut_after"],
)
@pytest.mark.parametrize("number", NUMBERS, ids=NAMES)
def test_connection_ends_in_place_of_the_response(
    broker: BlockingBroker, client: WireClient, number: int, fault_of: Callable[[Faults, str], Fault], *,
    is_carried_out: bool
) -> None:  # fmt: skip
    name, request, version = STEPS[number]
    log_in(client, last=number)
    before = logins(broker)
    with fault_of(broker.faults, name) as fault:
        client.send(request, version)
        assert received_until_the_end(client) == (6 if "cut_after" in str(fault.effect) else 0)
        fault.wait_fired(1, 20)
    assert logins(broker) - before == (is_carried_out and name == "SaslAuthenticate")


def received_until_the_end(client: WireClient) -> int:
    size = 0
    peer: socket.socket = client._socket
    try:
        while data := peer.recv(1000):
            size += len(data)
    except ConnectionResetError:
        pass
    return size


@pytest.mark.parametrize("is_delay", [False, True], ids=["hang", "delay"])
@pytest.mark.parametrize("number", NUMBERS, ids=NAMES)
def test_login_waits_until_the_fault_is_removed(
    broker: BlockingBroker, client: WireClient, number: int, is_delay: bool
) -> None:
    name, request, version = STEPS[number]
    log_in(client, last=number)
    before, faults = logins(broker), broker.faults
    with faults.delay(name, 3_600_000) if is_delay else faults.hang(name) as fault:
        client.send(request, version)
        fault.wait_fired(1, 20)
        with WireClient(broker.bootstrap_servers, 20) as other:
            if number:
                log_in(other, last=number)
        assert not client.is_answered()
        assert logins(broker) == before
        fault.remove()
        assert client.receive().error_code == 0
    log_in(client, number + 1)
    assert topics_are_listed(client)
    assert logins(broker) == before + 1


def test_wrong_password_behind_a_delay_still_ends_the_connection(broker: BlockingBroker, client: WireClient) -> None:
    log_in(client, last=2)
    with broker.faults.delay("SaslAuthenticate", 1) as fault:
        wrong = plain_request(ApiKey.SASL_AUTHENTICATE, auth_bytes=b"\0u\0wrong")
        assert client.ask(wrong, 1).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        assert fault.fired == 1
    with pytest.raises((AssertionError, OSError)):
        client.ask(wrong, 1)


def test_lost_client_of_a_hanging_login_never_logs_in(broker: BlockingBroker, client: WireClient) -> None:
    before = logins(broker)
    with broker.faults.hang("SaslAuthenticate") as fault, WireClient(broker.bootstrap_servers, 20) as lost:
        log_in(lost, last=2)
        lost.send(*STEPS[2][1:])
        fault.wait_fired(1, 20)
        server = broker._broker._server
        assert server is not None
        assert server._listeners is not None
        broker._thread.call(reset(server._listeners.connections()[-1]))
    log_in(client)
    assert logins(broker) == before + 1


async def reset(connection: object) -> None:
    connection.reset()  # type: ignore[attr-defined]


def test_kafka_python_logs_in_again_after_lost_responses(broker: BlockingBroker) -> None:
    faults = [broker.faults.drop_response(name, times=1) for name in NAMES[1:]]
    admin = KafkaAdminClient(
        bootstrap_servers=broker.bootstrap_servers,
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_plain_username="u",
        sasl_plain_password="p",
    )
    try:
        assert admin.list_topics() == []
        assert [fault.fired for fault in faults] == [1, 1]
    finally:
        admin.close()
        broker.faults.clear()
