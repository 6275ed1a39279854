"""The error code of a fault on each API that the broker serves, as stock clients in three languages read it.

`NOT_SENT` is the table of clients and APIs without a test: each has its reason.
"""

from collections.abc import Iterator

import pytest
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.faults.requesting_clients import CLIENTS, NEWEST_JAVA, RequestingClient
from support.faults.requests_to_fault import SETTINGS, TOPICS, request_to_fault
from support.in_process.served_apis import error_codes, served_apis
from support.load.request_of_each_api import plain_request

pytestmark = pytest.mark.long
CODE = ErrorCode.POLICY_VIOLATION
"""No API answers these requests with it by itself."""

SHARE_GROUPS = [
    ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE
]  # fmt: skip
SHARE_OFFSETS = [
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.DELETE_SHARE_GROUP_OFFSETS
]  # fmt: skip
TOKENS = [
    ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
]  # fmt: skip
NOT_SENT: dict[str, dict[ApiKey, str]] = {
    "franz-go": dict.fromkeys(
        [*SHARE_GROUPS, *SHARE_OFFSETS, ApiKey.LIST_CLIENT_METRICS_RESOURCES, ApiKey.DESCRIBE_TOPIC_PARTITIONS],
        "kmsg 1.9 does not know the API",
    ),
    "kafka-python": {
        **dict.fromkeys([*SHARE_GROUPS, *SHARE_OFFSETS], "kafka-python 3.0 has no share groups"),
        **dict.fromkeys(TOKENS, "kafka-python 3.0 has no delegation tokens"),
        ApiKey.CONSUMER_GROUP_HEARTBEAT: "kafka-python 3.0 has only the classic group protocol",
        ApiKey.CONSUMER_GROUP_DESCRIBE: "kafka-python 3.0 has only the classic group protocol",
    },
    "java": {
        **dict.fromkeys(SHARE_GROUPS, "Kafka 3.9 has only version 0, which was never stable"),
        **dict.fromkeys(SHARE_OFFSETS, "Kafka 3.9 does not know the API"),
        ApiKey.DESCRIBE_TOPIC_PARTITIONS: "a broker without KRaft does not list it, and this client asks for the list",
    },
    NEWEST_JAVA: dict.fromkeys(
        [key for key in served_apis() if key not in (*SHARE_GROUPS, *SHARE_OFFSETS)], "the client of Kafka 3.9 sends it"
    ),
}
OF_ALL_APIS = [name for name in CLIENTS if name != NEWEST_JAVA]


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS) as broker, WireClient(broker.bootstrap_servers) as client:
        response = client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=TOPICS, timeout_ms=60_000), 5)
        assert not any(error_codes(response, 5))
        yield broker


@pytest.fixture(scope="module")
def clients(broker: BlockingBroker) -> Iterator[dict[str, RequestingClient]]:
    """The clients that are started, by their names."""
    started: dict[str, RequestingClient] = {}
    yield started
    for client in started.values():
        client.close()


@pytest.fixture
def client(clients: dict[str, RequestingClient], broker: BlockingBroker, name: str) -> RequestingClient:
    if name not in clients:
        clients[name] = CLIENTS[name](broker.bootstrap_servers)
    return clients[name]


@pytest.mark.parametrize(
    ("name", "key"),
    [(name, key) for name in CLIENTS for key in served_apis() if key not in NOT_SENT[name]],
    ids=lambda each: each.name if isinstance(each, ApiKey) else each,
)
def test_client_reads_the_error_code_of_a_fault_on_each_api_and_each_request_is_counted(
    broker: BlockingBroker, client: RequestingClient, key: ApiKey
) -> None:
    found = request_to_fault(key, client.newest[key])
    assert found is not None
    with broker.faults.error(API_SPECS[key].name, CODE.name) as fault:
        for count in (1, 2):
            outcome = client.send(key, *found)
            assert outcome.error is None
            assert CODE in outcome.codes
            assert set(outcome.codes) <= {CODE, ErrorCode.NONE}
            assert fault.fired == count
    assert CODE not in client.send(key, *found).codes, "the fault has ended"


@pytest.mark.parametrize("name", OF_ALL_APIS)
def test_client_cannot_send_exactly_the_apis_that_have_a_reason(client: RequestingClient, name: str) -> None:
    def is_sent(key: ApiKey) -> bool:
        found = request_to_fault(key, client.newest.get(key, -1))
        return found is not None and client.send(key, *found).error is None

    assert {key for key in served_apis() if not is_sent(key)} == NOT_SENT[name].keys()
