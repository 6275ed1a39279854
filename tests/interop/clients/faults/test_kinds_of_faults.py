"""Each kind of fault on Produce, Fetch and Metadata, as stock clients in three languages report it."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pybroker import Broker
from pybroker.broker.faults.fault import Fault
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.apis import API_SPECS, ApiKey
from support.clients.wire_client import WireClient
from support.faults.requesting_clients import CLIENTS, Outcome, RequestingClient
from support.faults.requests_to_fault import SETTINGS, TOPICS, request_to_fault
from support.in_process.served_apis import error_codes
from support.load.request_of_each_api import plain_request

pytestmark = pytest.mark.long
TIMEOUT_S = 60
MS = 40
"""The time of each delay and throttle."""
LOST = {"franz-go": ("EOF", "reset by peer"), "kafka-python": ("KafkaConnectionError",), "java": ("disconnected",)}
"""Words by which the clients report that the connection ended before the response."""


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS) as broker, WireClient(broker.bootstrap_servers) as client:
        response = client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=TOPICS, timeout_ms=60_000), 5)
        assert not any(error_codes(response, 5))
        yield broker


@pytest.fixture(scope="module", params=LOST)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def client(broker: BlockingBroker, name: str) -> Iterator[RequestingClient]:
    with CLIENTS[name](broker.bootstrap_servers) as client:
        yield client


Send = Callable[[], Outcome]


@pytest.fixture(params=[ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA], ids=lambda key: key.name)
def key(request: pytest.FixtureRequest) -> ApiKey:
    return ApiKey(request.param)


@pytest.fixture
def send(client: RequestingClient, key: ApiKey) -> Iterator[Send]:
    """Sends a request of the API, and checks after the test that the client is served again."""
    found = request_to_fault(key, client.newest[key])
    assert found is not None

    def send() -> Outcome:
        return client.send(key, *found)

    yield send
    assert served(send())


def served(outcome: Outcome) -> bool:
    return outcome.error is None and len(outcome.codes) > 0 and not any(outcome.codes)


def test_client_waits_for_a_delayed_response(broker: BlockingBroker, send: Send, key: ApiKey) -> None:
    with broker.faults.delay(API_SPECS[key].name, MS) as fault:
        outcome = send()
    assert fault.fired == 1
    assert served(outcome)
    assert outcome.took_ms >= MS


def test_client_is_answered_when_a_hang_is_removed(broker: BlockingBroker, send: Send, key: ApiKey) -> None:
    with ThreadPoolExecutor(1) as pool, broker.faults.hang(API_SPECS[key].name) as fault:
        waiting = pool.submit(send)
        fault.wait_fired(1, TIMEOUT_S)
        assert not waiting.done()
        fault.remove()
        assert served(waiting.result(TIMEOUT_S))
    assert fault.fired == 1


def test_client_reads_the_time_of_a_throttle_and_waits_for_it(broker: BlockingBroker, send: Send, key: ApiKey) -> None:
    with broker.faults.throttle(API_SPECS[key].name, MS, times=1) as fault:
        began_s = time.monotonic()
        outcome = send()
        assert fault.fired == 1
        assert served(outcome)
        assert outcome.throttle_ms == MS
        assert served(send())
        assert time.monotonic() - began_s >= MS / 1000


BREAKS: dict[str, Callable[[BlockingBroker, str], Fault]] = {
    "drop_request": lambda broker, api: broker.faults.drop_request(api),
    "drop_response": lambda broker, api: broker.faults.drop_response(api),
    "cut_after": lambda broker, api: broker.faults.cut_after(api, 6),
    "reset": lambda broker, api: broker.faults.reset(api),
}


@pytest.mark.parametrize("kind", BREAKS)
def test_client_reports_a_lost_connection_and_does_not_repeat_the_request(
    broker: BlockingBroker, send: Send, name: str, key: ApiKey, kind: str
) -> None:
    with BREAKS[kind](broker, API_SPECS[key].name) as fault:
        outcome = send()
        assert fault.fired == 1
    assert outcome.error is not None
    assert any(word in outcome.error for word in LOST[name]), outcome.error


def test_client_reports_that_its_new_connections_are_refused(broker: BlockingBroker, send: Send, key: ApiKey) -> None:
    with broker.faults.reset(API_SPECS[key].name, times=1), broker.faults.refuse_connections() as fault:
        assert send().error is not None
        assert fault.fired == 0, "open connections are not refused"
        assert send().error is not None
        assert fault.fired >= 1
