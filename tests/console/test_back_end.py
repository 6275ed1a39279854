"""The console's API for one cluster without logins: pybroker, or Apache Kafka with `--against-kafka`."""

import base64
import json
import time
from collections.abc import Iterator
from itertools import count
from typing import Any
from urllib.parse import quote

import pytest
from confluent_kafka import Producer
from support.clients.topics import create_topic
from support.console.console_process import ConsoleProcess
from support.processes.broker_or_kafka import StartedBroker, broker_or_kafka

NAMES = count()


@pytest.fixture(scope="module")
def broker(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedBroker]:
    settings = {"message.max.bytes": "20000000", "socket.request.max.bytes": "40000000"}
    with broker_or_kafka(pytestconfig, tmp_path_factory.mktemp("broker"), settings) as started:
        yield started


@pytest.fixture(scope="module")
def writer(broker: StartedBroker) -> Iterator[ConsoleProcess]:
    """A console that may change the cluster."""
    with ConsoleProcess(broker.bootstrap_servers, "--allow-writes") as console:
        yield console
    assert "Traceback" not in console.output, console.output[console.output.index("Traceback") - 500 :]


@pytest.fixture
def topic() -> str:
    return f"topic-{next(NAMES)}"


def produced(
    servers: str, topic: str, values: list[bytes | None], partitions: int = 1, compression: str = "none"
) -> None:
    """Creates a topic and writes these values to its partitions in turn, each with its number as key."""
    create_topic(servers, topic, partitions, {"max.message.bytes": "20000000"})
    producer = Producer(
        {"bootstrap.servers": servers, "message.max.bytes": 20_000_000, "compression.type": compression}
    )
    began_ms = time.time_ns() // 1_000_000 - len(values)
    for number, value in enumerate(values):
        key: bytes = str(number).encode()
        headers: list[tuple[str, str | bytes | None]] = [("trace", b"t%d" % number)]
        producer.produce(topic, value, key, number % partitions, timestamp=began_ms + number, headers=headers)
    assert producer.flush(60) == 0


def values_of(records: list[Any]) -> list[str]:
    return [record["value"]["text"] for record in records]


def test_pages_of_records_lead_through_all_records_once(
    broker: StartedBroker, writer: ConsoleProcess, topic: str
) -> None:
    values = [f"value {number}" for number in range(50)]
    produced(broker.bootstrap_servers, topic, [value.encode() for value in values], partitions=3)
    place: Any = "earliest"
    seen: list[str] = []
    while place is not None:
        page = writer.get(f"/api/topics/{topic}/records?from={place}&limit=7")
        seen += values_of(page["records"])
        place = page["next"]
    assert sorted(seen) == sorted(values)
    last = writer.get(f"/api/topics/{topic}/records?from=-5")
    assert values_of(last["records"]) == values[-5:]
    assert last["next"] is None
    assert last["previous"] is not None


def test_record_is_shown_with_its_bytes_hash_and_batch(
    broker: StartedBroker, writer: ConsoleProcess, topic: str
) -> None:
    big = b"x" * 10_000_000
    produced(broker.bootstrap_servers, topic, [b"\xff\x00", None, big], compression="lz4")
    page = writer.get(f"/api/topics/{topic}/records?from=earliest")
    binary, null, cut = page["records"]
    assert binary["value"] == {"size": 2, "text": None, "base64": base64.b64encode(b"\xff\x00").decode(), "cut": False}
    assert null["value"] is None
    assert (cut["value"]["size"], len(cut["value"]["text"]), cut["value"]["cut"]) == (len(big), 1_024, True)
    place = f"/api/topics/{topic}/partitions/0/records/2"
    detail = writer.get(place)
    assert (len(detail["value"]["text"]), detail["batch"]["codec"]) == (65_536, "lz4")
    reply = writer.ask("GET", f"{place}/value")
    assert reply.body == big
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"].startswith("attachment")
    assert writer.ask("GET", f"{place}/value?json=1").status == 413
    assert writer.ask("GET", f"/api/topics/{topic}/partitions/0/records/77").status == 404


def test_search_tells_hits_progress_and_where_to_go_on(
    broker: StartedBroker, writer: ConsoleProcess, topic: str
) -> None:
    orders = [{"id": number, "status": "failed" if number % 10 == 3 else "done"} for number in range(100)]
    produced(broker.bootstrap_servers, topic, [json.dumps(each).encode() for each in orders], partitions=2)
    place: Any = "earliest"
    found: list[int] = []
    reasons: list[str] = []
    while place is not None:
        path = f"/api/topics/{topic}/search?query=status%3Dfailed&limit=4&from={place}"
        with writer.events(path) as events:
            *hits, done = events
        assert {hit.name for hit in hits} <= {"hit", "progress"}
        found += [json.loads(hit.data["value"]["text"])["id"] for hit in hits if hit.name == "hit"]
        reasons.append(done.data["reason"])
        place = done.data["resume"]
    assert sorted(found) == [each["id"] for each in orders if each["status"] == "failed"]
    assert reasons == ["limit", "limit", "end"]
    reply = writer.ask("GET", f"/api/topics/{topic}/search?query=offset%3Abig")
    assert reply.status == 400
    assert "at character 6" in reply.json()["error"]


def test_live_tail_shows_records_as_they_come(broker: StartedBroker, writer: ConsoleProcess, topic: str) -> None:
    produced(broker.bootstrap_servers, topic, [b"old 1", b"old 2"])
    with (
        writer.events(f"/api/topics/{topic}/tail?from=-1") as plain,
        writer.events(f"/api/topics/{topic}/tail?query=good") as filtered,
    ):
        assert values_of(next(plain).data["records"]) == ["old 2"]
        for text in ("bad", "good"):
            writer.ask("POST", f"/api/topics/{topic}/records", {"value": {"text": text}})
        seen: list[str] = []
        while len(seen) < 2:
            seen += values_of(next(plain).data["records"])
        matched: list[str] = []
        while not matched:
            matched += values_of(next(filtered).data["records"])
        assert (seen, matched) == (["bad", "good"], ["good"])


def test_views_show_topics_groups_and_brokers(broker: StartedBroker, writer: ConsoleProcess, topic: str) -> None:
    group = f"a/b %{topic}"
    produced(broker.bootstrap_servers, topic, [b"1", b"2", b"3"], partitions=2)
    place = f"/api/groups/{quote(group, safe='')}"
    planned = writer.ask("POST", f"{place}/offsets/plan", {"topic": topic, "to": "earliest"}).json()
    assert [(row["current"], row["target"], row["end"]) for row in planned["plan"]] == [(None, 0, 2), (None, 0, 1)]
    assert writer.ask("POST", f"{place}/offsets", {"plan": planned["plan"]}).status == 200
    (row,) = [row for row in writer.get("/api/groups")["items"] if row["group"] == group]
    assert (row["state"], row["lag"], row["partitions"]) == ("Empty", 3, 2)
    assert [each["lag"] for each in writer.get(place)["offsets"]] == [2, 1]
    assert writer.get(f"{place}/timeline")["events"] == []
    listed = writer.get(f"/api/topics?filter={topic}&sort=-size_bytes")
    assert [(each["topic"], each["partitions"]) for each in listed["items"]] == [(topic, 2)]
    detail = writer.get(f"/api/topics/{topic}")
    assert detail["topic"]["records"] == 3
    assert {each["name"] for each in detail["settings"]} >= {"cleanup.policy", "retention.ms"}
    cluster = writer.get("/api/cluster")
    assert (cluster["brokers"], cluster["verdict"]["status"]) == (1, "healthy")
    (broker_row,) = writer.get("/api/brokers")["items"]
    detail = writer.get(f"/api/brokers/{broker_row['id']}")
    assert detail["broker"] == broker_row
    assert [each["is_online"] for each in detail["log_directories"]] == [True]
    assert writer.get(f"/api/partitions?topic={topic}")["matched"] == 2
    internal = writer.get("/api/topics/__consumer_offsets/records")["records"]
    assert group in {each["decoded"]["group"] for each in internal if each["decoded"]["type"] == "offset_commit"}


def test_offsets_are_reset_as_planned_or_not_at_all(broker: StartedBroker, writer: ConsoleProcess, topic: str) -> None:
    produced(broker.bootstrap_servers, topic, [b"1", b"2", b"3"])
    place = f"/api/groups/group-of-{topic}/offsets"

    def plan(to: str) -> Any:
        return writer.ask("POST", f"{place}/plan", {"topic": topic, "to": to}).json()

    for to, target in [("latest", 3), ("shift:-2", 1), ("shift:-9", 0), ("offset:2", 2)]:
        planned = plan(to)
        assert [row["target"] for row in planned["plan"]] == [target]
        stale = planned["plan"]
        assert writer.ask("POST", place, {"plan": planned["plan"]}).status == 200
    assert writer.ask("POST", place, {"plan": stale}).status == 409, "the group was at 0 when the plan was made"
    assert plan("offset:x")["error"].startswith("a place is")


def test_writes_create_and_delete_only_by_the_full_name(writer: ConsoleProcess, topic: str) -> None:
    body = {"name": topic, "partitions": 3, "configs": {"retention.ms": "5000"}}
    dry = writer.ask("POST", "/api/topics", {**body, "dry_run": True}).json()
    assert dry["cli"].endswith(f"--create --topic {topic} --partitions 3 --config retention.ms=5000")
    assert writer.ask("GET", f"/api/topics/{topic}").status == 404
    assert writer.ask("POST", "/api/topics", body).json()["created"]
    assert writer.ask("POST", "/api/topics", body).status == 409
    assert writer.ask("POST", "/api/topics", {**body, "name": "bad/name"}).status == 400
    produced_record = writer.ask(
        "POST",
        f"/api/topics/{topic}/records",
        {"partition": 1, "key": {"base64": "/wA="}, "value": None, "headers": [{"name": "a", "value": {"text": "b"}}]},
    ).json()
    assert (produced_record["partition"], produced_record["offset"]) == (1, 0)
    assert writer.ask("DELETE", f"/api/topics/{topic}", {"confirm": topic[:-1]}).status == 400
    assert writer.ask("DELETE", f"/api/topics/{topic}", {"confirm": topic}).json()["deleted"]
    assert f'audit: deletion of a topic by "anonymous" topic="{topic}"' in writer.output


def test_console_is_read_only_unless_writes_are_allowed(broker: StartedBroker, topic: str) -> None:
    produced(broker.bootstrap_servers, topic, [b'{"card": "4111", "a": 1}', b"no json 4111"])
    with ConsoleProcess(broker.bootstrap_servers, "--mask", "$.card") as console:
        assert console.ask("DELETE", f"/api/topics/{topic}", {"confirm": topic}).status == 403
        shown = values_of(console.get(f"/api/topics/{topic}/records")["records"])
        assert [text for text in shown if "4111" in text] == []
        with console.events(f"/api/topics/{topic}/search?query=4111") as events:
            assert [event.data["hits"] for event in events] == [0], "a search must not find masked text"
        assert b"4111" not in console.ask("GET", f"/api/topics/{topic}/partitions/0/records/0/value").body
    with ConsoleProcess(broker.bootstrap_servers, "--hide-records") as console:
        for path in ("records", "search?query=a", "tail", "partitions/0/records/0", "partitions/0/records/0/value"):
            assert console.ask("GET", f"/api/topics/{topic}/{path}").status == 403


def test_requests_of_other_sites_are_refused(writer: ConsoleProcess) -> None:
    assert writer.ask("GET", "/api/session", headers={"Host": "evil.example"}).status == 421
    assert writer.ask("GET", "/api/session", headers={"Sec-Fetch-Site": "cross-site"}).status == 403
    assert writer.ask("POST", "/api/topics", {}, headers={"Origin": "http://evil.example"}).status == 403
    connection_headers = {"X-Pybroker-Console": ""}
    assert writer.ask("POST", "/api/topics", {}, headers=connection_headers).status == 400, (
        "the header counts, not its value"
    )
    page = writer.ask("GET", "/topics/orders")
    assert page.status == 200
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    assert writer.ask("GET", "/static/%2e%2e/%2e%2e/settings.py").status == 404
    assert writer.ask("GET", "/api/nothing").status == 404


def test_bad_input_gets_one_clear_line(writer: ConsoleProcess, topic: str) -> None:
    for path in [
        "/api/topics?limit=x",
        f"/api/topics/{topic}/records",
        "/api/topics/a%FFb/records",
        "/api/topics/__none/records?from=yesterday",
        "/api/groups/nobody",
        "/api/brokers/99",
    ]:
        reply = writer.ask("GET", path)
        assert reply.status in (400, 404), path
        assert reply.json()["error"].count("\n") == 0
    for body in [{"name": 3}, {"name": "a", "partitions": "x"}, {"name": "\ud800"}, {"name": "a", "configs": []}]:
        assert writer.ask("POST", "/api/topics", body).status in (400, 409), body
