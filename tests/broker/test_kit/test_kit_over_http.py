"""The test kit over HTTP: faults and acts in JSON, and refusals with one plain line."""

import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pybroker import Broker
from pybroker.broker.faults.faults import Faults
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.test_kit.act_steps import STEPS
from pybroker.broker.test_kit.fault_words import fault_view, set_fault
from pybroker.broker.test_kit.routes import ACTS
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from support.clients.wire_client import WireClient

HTTP = {"pybroker.http.listeners": "HTTP://127.0.0.1:0"}
KIT = {**HTTP, "pybroker.test.kit": "true", "transaction.state.log.num.partitions": "1"}


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(KIT) as broker:
        yield broker


@pytest.fixture(autouse=True)
def no_fault_is_left(broker: BlockingBroker) -> Iterator[None]:
    yield
    broker.faults.clear()


def ask(
    broker: BlockingBroker, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{broker.http_url}{path}", data, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def code_of_api_versions(broker: BlockingBroker) -> int:
    with WireClient(broker.bootstrap_servers, 20) as client:
        return int(client.ask(ApiVersionsRequest(), 0).error_code)


def test_fault_is_set_seen_waited_for_and_removed(broker: BlockingBroker) -> None:
    words = {"api": "ApiVersions", "error": "NOT_CONTROLLER", "times": 3}
    status, fault = ask(broker, "POST", "/v1/test/faults", words)
    assert status == 201
    assert fault.items() >= words.items()
    path = f"/v1/test/faults/{fault['id']}"
    assert code_of_api_versions(broker) == ErrorCode.NOT_CONTROLLER
    assert ask(broker, "GET", f"{path}?fired=1") == (200, {**fault, "fired": 1})
    assert ask(broker, "GET", "/v1/test/faults") == (200, {"faults": [{**fault, "fired": 1}]})
    assert ask(broker, "GET", f"{path}?fired=2&timeout_ms=1")[0] == 503
    assert ask(broker, "DELETE", path)[0] == 200
    assert code_of_api_versions(broker) == 0
    assert ask(broker, "GET", path) == (404, {"error": "there is no such fault"})


@pytest.mark.parametrize("path", ["/v1/test/reset", "/v1/test/faults"])
def test_all_faults_are_removed_at_once(broker: BlockingBroker, path: str) -> None:
    for _ in range(3):
        ask(broker, "POST", "/v1/test/faults", {"api": "*", "hang": True})
    is_reset = path.endswith("reset")
    answer = ask(broker, "POST" if is_reset else "DELETE", path)
    assert answer == (200, {"reset": True} if is_reset else {"removed": 3})
    assert broker.faults.all() == []


@pytest.mark.parametrize("trouble", ["disk_full", "disk_fail"])
def test_reset_ends_the_trouble_of_the_disk(broker: BlockingBroker, trouble: str) -> None:
    assert ask(broker, "POST", f"/v1/test/acts/{trouble}")[0] == 200
    assert broker.acts.disk.has_trouble
    assert ask(broker, "POST", "/v1/test/reset")[0] == 200
    assert not broker.acts.disk.has_trouble


@pytest.mark.parametrize("how", ["/v1/test/reset", "/v1/test/faults", "/v1/test/faults/{id}"])
@pytest.mark.parametrize("words", [{"hang": True}, {"delay": 80_000_000}, {"hang": True, "times": 1}], ids=str)
def test_end_of_a_fault_releases_the_requests_that_wait_and_keeps_their_count(
    broker: BlockingBroker, how: str, words: dict[str, Any]
) -> None:
    fault = ask(broker, "POST", "/v1/test/faults", {"api": "ApiVersions", **words})[1]
    (ours,) = broker.faults.all()
    with WireClient(broker.bootstrap_servers, 20) as client:
        client.send(ApiVersionsRequest(), 0)
        assert ask(broker, "GET", f"/v1/test/faults/{fault['id']}?fired=1")[1]["fired"] == 1
        assert not client.is_answered()
        assert ask(broker, "POST" if how.endswith("reset") else "DELETE", how.format(id=fault["id"]))[0] == 200
        assert client.receive().error_code == 0
    assert ours.fired == 1


def test_dropped_requests_are_counted_when_their_connections_are_gone(broker: BlockingBroker) -> None:
    for word in ("drop_request", "drop_response", "reset"):
        fault = ask(broker, "POST", "/v1/test/faults", {"api": "ApiVersions", word: True})[1]
        path = f"/v1/test/faults/{fault['id']}"
        for _ in range(2):
            with pytest.raises((AssertionError, OSError)):
                code_of_api_versions(broker)
        assert ask(broker, "GET", f"{path}?fired=2")[1]["fired"] == 2
        assert ask(broker, "DELETE", path)[1]["fired"] == 2


FAULTS: list[dict[str, Any]] = [
    {"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER", "topic": "t", "partition": 1, "client": "a*"},
    {"api": "*", "delay": 5, "jitter_ms": 2},
    {"api": "Heartbeat", "hang": True, "group": "g"},
    {"api": "Produce", "drop_request": True, "times": 1, "after": 2},
    {"api": "Produce", "drop_response": True},
    {"api": "Produce", "reset": True},
    {"api": "Produce", "cut_after": 10, "transactional_id": "t"},
    {"api": "Fetch", "corrupt": True},
    {"api": "Fetch", "throttle": 10},
    {"api": "*", "refuse_connections": True},
]


@pytest.mark.parametrize("words", FAULTS)
def test_words_of_a_fault_are_those_that_set_it(words: dict[str, Any]) -> None:
    asked = {name: value for name, value in words.items() if "refuse_connections" not in words or name != "api"}
    assert fault_view(set_fault(Faults(), asked)).items() >= words.items()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"api": "Fetch"}, "a fault has exactly one of error, "),
        ({"api": "Fetch", "hang": True, "reset": True}, "a fault has exactly one of error, "),
        ({"api": "Fetch", "hang": 1}, "hang is true, not 1"),
        ({"error": "NOT_CONTROLLER"}, "a fault needs an api"),
        ({"api": 3, "hang": True}, "api is a name"),
        ({"api": "Fetch", "error": None}, "error is a name such as NOT_COORDINATOR, not null"),
        ({"api": "Fetch", "topic": ["t"], "hang": True}, 'topic is a text, not ["t"]'),
        ({"api": "Fetch", "delay": "long"}, 'delay is a whole number from 0 to 86400000, not "long"'),
        ({"api": "Fetch", "throttle": 1.5}, "throttle is a whole number from 0 to 86400000, not 1.5"),
        ({"api": "Fetch", "cut_after": None}, "cut_after is a whole number from 0 to 1048576, not null"),
        ({"api": "Fetch", "delay": 1, "jitter_ms": True}, "jitter_ms is a whole number from 0 to 86400000, not true"),
        (
            {"api": "Fetch", "hang": True, "tpic": "t"},
            "there is no word 'tpic' beside hang; did you mean topic or api?",
        ),
        ({"api": "Fetch", "hang": True, "self": 1}, "there is no word 'self' beside hang; there are api, topic"),
        ({"api": "Fetch", "error": "NOT_CONTROLLER", "code": 1}, "there is no word 'code' beside error"),
        ({"api": "Fetch", "delay": 1, "ms": 1}, "there is no word 'ms' beside delay"),
        ({"api": "Fetch", "cut_after": 1, "size_bytes": 1}, "there is no word 'size_bytes' beside cut_after"),
        ({"api": "Fetch", "hang": True, "where": {}, "jitter_ms": 1}, "there is no word 'where' beside hang"),
        ({"api": "Produce", "corrupt": True}, 'api is Fetch beside corrupt, not "Produce"'),
        (
            {"refuse_connections": True, "topic": "t"},
            "there is no word 'topic' beside refuse_connections; there are times, after",
        ),
    ],
)
def test_words_without_a_meaning_are_refused(broker: BlockingBroker, words: dict[str, Any], line: str) -> None:
    status, answer = ask(broker, "POST", "/v1/test/faults", words)
    assert status == 400
    assert answer["error"].startswith(line)
    assert broker.faults.all() == []


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/v1/test/faults", b"[" * 60_000, (400, "the body is not JSON")),
        ("POST", "/v1/test/faults", b"[]", (400, "the body is not a JSON object")),
        ("POST", "/v1/test/faults", b"{}" + b" " * 70_000, (413, "a body has at most 65536 bytes")),
        ("POST", "/v1/test/acts/fly", None, (404, "there is no act 'fly'; there are apply_retention, ")),
        ("POST", "/v1/test/acts/fence", b"{}", (400, "transactional_id is missing")),
        ("POST", "/v1/test/acts/pause", b'{"ms": NaN}', (400, "the body is not JSON")),
        ("POST", "/v1/test/acts/pause", b'{"ms": 600001}', (400, "ms is a whole number from 0 to 600000")),
        ("POST", "/v1/test/acts/disk_full", b'{"directory": "/no"}', (400, "there is no log directory '/no'; ")),
        ("POST", "/v1/test/acts/pause", b'{"s": 1}', (400, "there is no argument 's'; ")),
        ("POST", "/v1/test/clock", b'{"advance_ms": -1}', (400, "advance_ms: a whole number")),
        (
            "POST",
            "/v1/test/acts/move_leader",
            b'{"topic": "no", "partition": 0, "to": 2}',
            (404, "there is no topic 'no'"),
        ),
        ("POST", "/v1/topics", b"{}", (405, "only GET and HEAD are served")),
        ("PUT", "/v1/test/faults", b"{}", (405, "only ")),
    ],
)
def test_requests_that_cannot_be_served_are_refused_with_a_plain_line(
    broker: BlockingBroker, method: str, path: str, body: bytes | None, expected: tuple[int, str]
) -> None:
    status, answer = ask(broker, method, path, body)
    assert status == expected[0]
    assert answer["error"].startswith(expected[1])


TEXTS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("faults", {"api": "Fetch", "hang": True, word: "x"})
        for word in ("topic", "group", "transactional_id", "client")
    ),
    ("faults", {"api": "x", "hang": True}),
    ("faults", {"api": "Fetch", "error": "x"}),
    ("acts/fence", {"transactional_id": "x"}),
    ("acts/leave_open", {"transactional_id": "x", "topic": "t"}),
    ("acts/leave_open", {"transactional_id": "t", "topic": "x"}),
    ("acts/compact", {"topic": "x"}),
    ("acts/move_leader", {"topic": "x", "partition": 0, "to": 1}),
    ("acts/move_coordinator", {"group": "x"}),
    ("acts/disk_full", {"directory": "x"}),
    ("acts/disk_slow", {"ms": 1, "directory": "x"}),
    ("steps/begin_transaction", {"transactional_id": "x", "topic": "t"}),
    ("steps/until_coordinated_by", {"group": "x", "coordinator": 1}),
    ("steps/until_led_by", {"topic": "x", "partition": 0, "leader": 1}),
    ("clock", {"advance_timers_ms": 1, "silent": ["x"]}),
    ("clock", {"x": 1}),
    ("reset", {"x": 1}),
]


@pytest.mark.parametrize("text", ["\\ud800", "\\udfff\\ud83d"])
def test_half_of_a_surrogate_pair_is_refused_in_every_text_and_breaks_nothing(
    broker: BlockingBroker, text: str
) -> None:
    for path, words in TEXTS:
        body = json.dumps(words).replace('"x"', f'"{text}"').encode()
        answer = ask(broker, "POST", f"/v1/test/{path}", body)
        assert answer == (400, {"error": "a text in the body has half of a surrogate pair, which is no character"})
    assert ask(broker, "GET", "/v1/test/faults") == (200, {"faults": []})
    assert broker.is_running


LONG = ("fence", "leave_open", "compact", "move_leader", "move_coordinator")


@pytest.mark.parametrize(("path", "words"), [each for each in TEXTS if each[0].removeprefix("acts/") in LONG])
@pytest.mark.parametrize("text", ["", "x" * 40_000], ids=["empty", "long"])
def test_text_that_kafka_cannot_have_is_a_mistake_of_the_caller(
    broker: BlockingBroker, path: str, words: dict[str, Any], text: str
) -> None:
    body = {name: text if value == "x" else value for name, value in words.items()}
    status, answer = ask(broker, "POST", f"/v1/test/{path}", body)
    assert status in (400, 404)
    assert len(answer["error"]) < 300
    assert broker.is_running


NUMBERS: list[tuple[str, dict[str, Any]]] = [
    *(("faults", {"api": "Fetch", word: "N"}) for word in ("delay", "throttle", "cut_after")),
    *(("faults", {"api": "Fetch", "hang": True, word: "N"}) for word in ("times", "after")),
    ("faults", {"api": "Fetch", "hang": True, "topic": "t", "partition": "N"}),
    ("faults", {"api": "Fetch", "delay": 1, "jitter_ms": "N"}),
    ("acts/pause", {"ms": "N"}),
    ("acts/disk_slow", {"ms": "N"}),
    *(("clock", {word: "N"}) for word in ("advance_ms", "advance_timers_ms", "freeze")),
    (
        "steps/write_open",
        {"transactional_id": "t", "topic": "t", "partition": 0, "producer_id": 1, "producer_epoch": "N"},
    ),
    (
        "steps/write_open",
        {"transactional_id": "t", "topic": "t", "partition": "N", "producer_id": 1, "producer_epoch": 1},
    ),
    ("acts/move_leader", {"topic": "t", "partition": "N", "to": 1}),
    ("acts/move_leader", {"topic": "t", "partition": 0, "to": "N"}),
]


@pytest.mark.parametrize(
    "number", ["-1", "70000.5", "1e999", "1" + "0" * 20, "1" * 4301, "true"], ids=lambda text: text[:6]
)
def test_number_that_means_nothing_is_refused_in_every_place(broker: BlockingBroker, number: str) -> None:
    if "t" not in broker.topics():
        broker.create_topic("t")
    for path, words in NUMBERS:
        body = json.dumps(words).replace('"N"', number).encode()
        status, answer = ask(broker, "POST", f"/v1/test/{path}", body)
        if (number, path, "freeze" in words) == ("true", "clock", True):
            broker.clock.unfreeze()
            continue
        assert (status, len(answer["error"]) < 300) == (400, True), (path, words, answer)
    assert broker.faults.all() == []


def test_epoch_that_no_producer_can_have_is_refused(broker: BlockingBroker) -> None:
    if "t" not in broker.topics():
        broker.create_topic("t")
    words = {"transactional_id": "t", "topic": "t", "partition": 0, "producer_id": 1, "producer_epoch": 70_000}
    status, answer = ask(broker, "POST", "/v1/test/steps/write_open", words)
    assert (status, answer["error"]) == (400, "producer_epoch is a whole number from 0 to 32767, not 70000")


@pytest.mark.parametrize("name", ["fired", "timeout_ms"])
@pytest.mark.parametrize("number", ["0" * 19 + "1" + "0" * zeros for zeros in (36, 400, 4_500)], ids=len)
def test_number_of_many_digits_in_the_query_is_refused(broker: BlockingBroker, name: str, number: str) -> None:
    fault = broker.faults.hang("Fetch")
    query = {"fired": "1"} | {name: number}
    text = "&".join(f"{each}={value}" for each, value in query.items())
    status, answer = ask(broker, "GET", f"/v1/test/faults/{fault.id}?{text}")
    assert status == 400
    assert answer["error"].startswith(f"{name} is a whole number from 1 to ")


def test_steps_of_a_cluster_are_no_acts(broker: BlockingBroker) -> None:
    for name in STEPS:
        status, answer = ask(broker, "POST", f"/v1/test/acts/{name}")
        assert status == 404
        assert not set(STEPS) & set(answer["error"].partition(";")[2].replace(",", " ").split())


def test_page_lists_the_acts_that_are_served() -> None:
    page = (Path(__file__).parents[3] / "docs/user/test-kit.md").read_text()
    listed = re.sub(r"\s\([^)]*\)", "", page.partition("`wait_ms`. Acts: ")[2].partition(".\n\n")[0])
    assert sorted(listed.replace("`", "").replace("\n", " ").split(", ")) == sorted((*ACTS, "kill", "stop"))


def test_clock_moves_over_http(broker: BlockingBroker) -> None:
    before_ms = broker.clock.clock_ms()
    status, moved = ask(broker, "POST", "/v1/test/clock", {"advance_ms": 100_000_000})
    assert status == 200
    assert moved["now_ms"] >= before_ms + 100_000_000


def test_acts_over_http_return_what_they_did(broker: BlockingBroker) -> None:
    status, done = ask(broker, "POST", "/v1/test/acts/fence", {"transactional_id": "t"})
    assert status == 200
    assert done["result"].keys() == {"producer_id", "producer_epoch"}
    assert ask(broker, "POST", "/v1/test/acts/pause", {"ms": 1}) == (200, {"act": "pause", "result": None})


@pytest.mark.parametrize("name", ["stop", "kill"])
def test_broker_ends_over_http_and_may_be_started_again(name: str) -> None:
    with Broker(KIT) as broker:
        assert ask(broker, "POST", f"/v1/test/acts/{name}")[0] == 200
        while broker.is_running:
            pass
        broker.restart()
        assert code_of_api_versions(broker) == 0


def test_request_of_a_web_page_is_refused(broker: BlockingBroker) -> None:
    headers = {"Origin": "http://evil.example"}
    assert ask(broker, "POST", "/v1/test/reset", None, headers)[0] == 400
    assert ask(broker, "DELETE", "/v1/test/faults", None, headers)[0] == 400


def test_client_that_waits_for_100_continue_may_send_its_body(broker: BlockingBroker) -> None:
    host, port = str(broker.http_url).removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 20) as peer:
        head = "POST /v1/test/reset HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        peer.sendall(head.encode())
        assert peer.recv(100).startswith(b"HTTP/1.1 100")
        peer.sendall(b"{}")
        response = b""
        while not response.endswith(b"}\n"):
            response += peer.recv(1000)
        assert response.startswith(b"HTTP/1.1 200 OK")
        peer.sendall(head.encode())
        assert peer.recv(100).startswith(b"HTTP/1.1 100"), "the connection stays open"


def test_broker_without_the_kit_has_no_such_path() -> None:
    with Broker(HTTP) as broker:
        assert ask(broker, "GET", "/v1/test/faults")[0] == 404
        assert ask(broker, "POST", "/v1/test/faults", {"api": "*", "hang": True})[0] == 405
        assert ask(broker, "GET", "/buildinfo")[1]["test_kit"] is False


def test_openapi_document_has_the_paths_of_the_kit_and_its_words(broker: BlockingBroker) -> None:
    paths = ask(broker, "GET", "/v1/openapi.json")[1]["paths"]
    schema = paths["/v1/test/faults"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    words = {name for fault in FAULTS for name in fault}
    assert words <= schema["properties"].keys()
    served = {(method, path) for path, item in paths.items() for method in item if path.startswith("/v1/test/")}
    routes = broker._broker._server.observability.router._routes  # type: ignore[union-attr]
    ours = {
        ("/".join(route.pattern), method) for route in routes for method in route.methods if "test" in route.pattern
    }
    assert served == {(method.lower(), path) for path, method in ours if method != "HEAD"}


def test_cluster_with_the_kit_is_in_trouble_in_the_console(broker: BlockingBroker) -> None:
    verdict = ask(broker, "GET", "/v1/cluster")[1]["verdict"]
    assert verdict["status"] == "trouble"
    assert "test_kit" in [problem["kind"] for problem in verdict["problems"]]


def test_build_info_tells_of_the_kit(broker: BlockingBroker) -> None:
    assert ask(broker, "GET", "/buildinfo")[1]["test_kit"] is True


@pytest.mark.parametrize("listener", ["HTTP://0.0.0.0:8092", "HTTPS://0.0.0.0:8092"])
def test_kit_that_every_machine_could_use_is_refused_at_start(listener: str) -> None:
    settings = {"pybroker.http.listeners": listener, "pybroker.test.kit": "true"}
    with pytest.raises(ConfigError, match=r"pybroker\.test\.kit.*every machine that reaches .* could break the broker"):
        load_config("", settings)
    load_config("", {**settings, "pybroker.http.insecure": "true"})


def test_clock_is_moved_and_mistakes_are_refused(broker: BlockingBroker) -> None:
    before_ms = broker.clock.clock_ms()
    status, moved = ask(broker, "POST", "/v1/test/clock", {"advance_ms": 3_600_000})
    assert status == 200
    assert before_ms + 3_600_000 <= moved["now_ms"] <= broker.clock.clock_ms()
    assert ask(broker, "POST", "/v1/test/clock", {"advance_timers_ms": 1, "silent": ["a"]})[0] == 200
    status, refusal = ask(broker, "POST", "/v1/test/clock", {"advance_ms": -1})
    assert (status, list(refusal)) == (400, ["error"])
    assert ask(broker, "POST", "/v1/test/clock", {"advance_ms": 1}, {"Origin": "http://page"})[0] == 400
