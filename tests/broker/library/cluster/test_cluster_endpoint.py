"""The test kit of a whole cluster over HTTP: faults, acts and refusals with one plain line."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from pybroker import Cluster
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.broker.library.cluster.cluster_endpoint import ClusterEndpoint
from pybroker.broker.start_error import StartError
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from support.clients.wire_client import WireClient
from support.load.request_of_each_api import plain_request
from support.time.patience import await_that

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[BlockingCluster]:
    with Cluster(2, SETTINGS) as cluster:
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
        admin.create_topics([NewTopic("t", 1, 2, topic_configs={"cleanup.policy": "compact"})])
        admin.close()
        yield cluster


@pytest.fixture(scope="module")
def url(cluster: BlockingCluster) -> Iterator[str]:
    with ClusterEndpoint(cluster) as endpoint:
        yield endpoint.url


def ask(url: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{url}/v1/{path}", data, method=method)
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def act(url: str, name: str, **arguments: Any) -> Any:
    """The result of an act that must succeed."""
    status, answer = ask(url, "POST", f"test/acts/{name}", arguments)
    assert status == 200, answer
    return answer["result"]


def code(cluster: BlockingCluster, broker: int) -> int:
    with WireClient(cluster.bootstrap_server(broker), 20) as client:
        return int(client.ask(plain_request(ApiKey.API_VERSIONS), 0).error_code)


def test_fault_is_set_on_all_brokers_waited_for_and_removed(cluster: BlockingCluster, url: str) -> None:
    words = {"api": "ApiVersions", "error": "NOT_CONTROLLER", "client": "wire"}
    status, fault = ask(url, "POST", "test/faults", words)
    assert status == 201
    assert fault.items() >= words.items()
    assert [code(cluster, broker) for broker in (1, 2)] == [ErrorCode.NOT_CONTROLLER] * 2
    path = f"test/faults/{fault['id']}"
    assert ask(url, "GET", f"{path}?fired=2") == (200, {**fault, "fired": 2})
    assert ask(url, "GET", "test/faults") == (200, {"faults": [{**fault, "fired": 2}]})
    assert ask(url, "GET", f"{path}?fired=3&timeout_ms=1")[0] == 503
    assert ask(url, "DELETE", path)[0] == 200
    assert ask(url, "GET", path) == (404, {"error": "there is no such fault"})
    assert code(cluster, 1) == 0


def test_fault_of_one_broker_fires_there_alone_and_reset_removes_it(cluster: BlockingCluster, url: str) -> None:
    words = {"api": "ApiVersions", "error": "NOT_CONTROLLER", "broker": 2}
    status, fault = ask(url, "POST", "test/faults", words)
    assert status == 201
    assert fault["broker"] == 2
    assert [code(cluster, broker) for broker in (1, 2)] == [0, ErrorCode.NOT_CONTROLLER]
    assert ask(url, "POST", "test/reset") == (200, {"reset": True})
    assert code(cluster, 2) == 0


def test_broker_is_killed_started_stopped_and_restarted(cluster: BlockingCluster, url: str) -> None:
    for end in ("kill", "stop"):
        act(url, end, broker=2)
        assert not cluster.is_running(2)
        act(url, "start", broker=2)
        assert code(cluster, 2) == 0
    act(url, "restart", broker=2)
    assert code(cluster, 2) == 0


def test_broker_is_paused_until_it_is_resumed_or_all_is_reset(cluster: BlockingCluster, url: str) -> None:
    for end in ("test/acts/resume", "test/reset"):
        act(url, "pause", broker=2)
        with WireClient(cluster.bootstrap_server(2), 20) as client:
            client.send(plain_request(ApiKey.API_VERSIONS), 0)
            assert code(cluster, 1) == 0
            assert not client.is_answered()
            assert ask(url, "POST", end, {"broker": 2} if end.endswith("resume") else None)[0] == 200
            assert client.receive().error_code == 0


def test_cut_stops_replication_until_it_is_healed(cluster: BlockingCluster, url: str) -> None:
    act(url, "move_leader", topic="t", partition=0, to=1)
    with WireClient(cluster.bootstrap_server(1), 60) as client:
        for end in ("test/acts/heal", "test/reset"):
            act(url, "cut", one=1, other=2)
            client.send(produce(), 7)
            assert code(cluster, 1) == 0
            assert not client.is_answered(), "the follower does not have the record"
            assert ask(url, "POST", end, {"one": 2, "other": 1} if end.endswith("heal") else None)[0] == 200
            assert client.receive().responses[0].partition_responses[0].error_code == 0


def produce() -> Any:
    data = [{"name": "t", "partition_data": [{"index": 0, "records": bytearray(RECORDS)}]}]
    return plain_request(ApiKey.PRODUCE, acks=-1, timeout_ms=60_000, topic_data=data)


RECORDS = build_batch([Record(0, 1_700_000_000_000, b"key", b"value")])


def test_leaders_and_coordinators_move_and_transactions_are_left_open(cluster: BlockingCluster, url: str) -> None:
    for broker in (1, 2):
        act(url, "move_leader", topic="t", partition=0, to=broker)
        assert act(url, "move_coordinator", group="g", to=broker) == broker
    assert act(url, "move_coordinator", group="g") == 1
    assert act(url, "leave_open", transactional_id="x", topic="t").keys() == {
        "producer_id",
        "producer_epoch",
        "offset",
    }
    assert act(url, "fence", transactional_id="x")["producer_epoch"] > 0
    act(url, "apply_retention")
    act(url, "expire_offsets")
    act(url, "expire_session", broker=1)


def test_disk_of_one_broker_is_full_until_it_is_healed(cluster: BlockingCluster, url: str) -> None:
    move = {"topic": "t", "partition": 0, "to": 1}
    # Broker 1 was stopped before, and may lead again as soon as it is in the ISR.
    await_that(lambda: ask(url, "POST", "test/acts/move_leader", move)[0] == 200, "broker 1 leads")
    act(url, "disk_full", broker=1)
    with WireClient(cluster.bootstrap_server(1), 60) as client:
        refused = client.ask(produce(), 7).responses[0].partition_responses[0].error_code
    assert refused == ErrorCode.KAFKA_STORAGE_ERROR
    act(url, "disk_heal", broker=1)
    act(url, "disk_slow", broker=1, ms=0)


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        ("acts/fly", None, (404, "there is no act 'fly'; there are apply_retention, compact, cut, ")),
        ("acts/kill", None, (400, "broker is missing")),
        ("acts/kill", {"broker": 9}, (400, "the cluster has no broker 9")),
        ("acts/kill", {"broker": True}, (400, "broker is a text or a whole number, not true")),
        ("acts/kill", {"brokr": 1}, (400, "there is no argument 'brokr'; did you mean broker?")),
        ("acts/start", {"broker": 1}, (409, "broker 1 is already running")),
        ("acts/cut", {"one": 1, "other": 1}, (400, "1 has no connection to itself")),
        ("acts/expire_session", {"broker": "zookeeper"}, (400, 'broker is a whole number, not "zookeeper"')),
        ("faults", {"api": "Fetch", "hang": True, "broker": 9}, (400, "the cluster has no broker 9")),
        ("faults", {"api": "Fetch", "hang": True, "broker": True}, (400, "the cluster has no broker true")),
        ("faults", {"api": "Fetch", "hang": True, "broker": [1]}, (400, "the cluster has no broker [1]")),
        ("acts/move_leader", {"topic": "no", "partition": 0, "to": 1}, (404, "there is no topic 'no'")),
        ("acts/fence", {"transactional_id": ""}, (400, "transactional_id is a text of one character or more, not ")),
        ("faults", {"api": "Fech", "hang": True}, (400, "there is no API 'Fech'")),
        ("reset", {"now": True}, (400, "reset takes nothing")),
    ],
)
def test_requests_without_a_meaning_are_refused(url: str, path: str, body: object, expected: tuple[int, str]) -> None:
    status, answer = ask(url, "POST", f"test/{path}", body)
    assert (status, answer["error"][: len(expected[1])]) == expected


def test_document_describes_each_act_with_its_arguments(url: str) -> None:
    document = ask(url, "GET", "openapi.json")[1]
    acts = {path.rpartition("/")[2]: item for path, item in document["paths"].items() if "/acts/" in path}
    assert {"kill", "pause", "resume", "stop", "start", "restart", "cut", "heal", "move_leader"} <= acts.keys()
    assert "reset_all" not in acts
    schema = acts["move_coordinator"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"] == {"group": {"type": "string"}, "to": {"type": "integer"}}
    assert schema["required"] == ["group"]
    for name in acts:
        assert ask(url, "POST", f"test/acts/{name}", {"no such argument": 1})[0] == 400


def test_port_that_is_taken_is_refused_with_a_plain_line(cluster: BlockingCluster, url: str) -> None:
    taken = int(url.rpartition(":")[2])
    with (
        pytest.raises(StartError, match="the test kit of the cluster cannot be served"),
        ClusterEndpoint(cluster, taken),
    ):
        pass
