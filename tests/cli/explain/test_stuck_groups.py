"""More groups that are stuck on purpose, by brokers, rights, quotas and transactions."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer
from pybroker import Broker
from pybroker.cli.explain.shapes import GroupExplanation
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.protocol.errors import ErrorCode
from support.clients.commands import rows_of, run
from support.clients.produced import Produced, produce
from support.clients.wire_member import WireMember, wait_for_coordinator
from support.console.three_brokers import three_brokers
from support.time.patience import await_that
from support.transactions.hanging_transaction import HANGING_ID, UNVERIFIED, begin_hanging_transaction

OLD_MS = round(time.time() * 1000) - 3_600_000
OFFSETS = "__consumer_offsets"
SETTINGS = {
    **UNVERIFIED,
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "pybroker.http.listeners": "HTTP://127.0.0.1:0",
    "log.retention.ms": "-1",
    "group.max.size": "2",
    "quota.window.num": "2",  # so that no delay is longer than a second or two
}


@pytest.fixture(scope="module")
def own() -> Iterator[Any]:
    with Broker(SETTINGS) as broker:
        yield broker


@pytest.fixture
def servers(own: Any) -> str:
    return str(own.bootstrap_servers)


@pytest.fixture
def http(own: Any) -> str:
    return str(own.http_url)


def explained(servers: str, group: str, *options: str, watch: str = "0.1") -> dict[str, Any]:
    ran = run(servers, "explain", "group", group, "--stuck-after", "0", "--for", watch, "-o", "json", *options)
    assert ran.code in (0, 10), ran.err
    (view,) = rows_of(ran.out, GroupExplanation)
    assert ran.code == (0 if view["is_healthy"] else 10)
    return view


def finding(view: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = [each for each in view["findings"] if each["kind"] == kind]
    return dict(found)


def filled(servers: str, topic: str, partitions: int = 1, records: int = 3, size: int = 5) -> str:
    assert run(servers, "topics", "create", topic, "-p", str(partitions), "--wait").code == 0
    value = b"v" * size
    records_of_all = [Produced(topic, at, -1, OLD_MS, None, value) for at in range(partitions) for _ in range(records)]
    produce(servers, records_of_all, batch_num_messages="1")
    return topic


def stored(servers: str, group: str, topic: str, offset: str) -> None:
    reset = ("groups", "reset", group, "--to", offset, "--topics", topic, "--execute")
    await_that(lambda: run(servers, *reset).code == 0, "the offset is stored")  # brokers learn of a topic one by one


def test_member_that_does_not_ask_for_its_partitions_is_named(servers: str, http: str, topic: str) -> None:
    filled(servers, topic, partitions=2)
    wait_for_coordinator(servers, topic)
    with WireMember(servers, topic, [topic]) as leader, WireMember(servers, topic, [topic]) as mute:
        leader.begin_join()
        leader.finish_join()
        mute.begin_join()
        leader.join()
        mute.finish_join()
        leader.sync({leader: {topic: [0]}, mute: {topic: [1]}})
        view = explained(servers, topic, "--v1", http)
    found = finding(view, "assignment_awaited")
    assert mute.member_id in found["culprit"]
    assert "has not asked for its partitions" in found["text"]
    assert view["state"] == "Stable"


def test_topic_deleted_under_the_group_is_named(servers: str, http: str, topic: str) -> None:
    filled(servers, topic)
    wait_for_coordinator(servers, topic)
    with WireMember(servers, topic, [topic]) as member:
        member.join_alone({topic: [0]})
        assert run(servers, "topics", "delete", topic, "-y").code == 0
        view = explained(servers, topic, "--v1", http)
    found = finding(view, "topic_missing")
    assert f"topic {topic} is subscribed to, but does not exist" in found["text"]
    assert member.member_id in found["culprit"]
    assert not view["is_healthy"]


def test_client_that_finds_the_group_full_is_named(servers: str, http: str, topic: str) -> None:
    filled(servers, topic)
    wait_for_coordinator(servers, topic)
    with WireMember(servers, topic, [topic]) as first, WireMember(servers, topic, [topic]) as second:
        first.join_alone({topic: [0]})
        second.begin_join()
        first.join()
        second.finish_join()
        with WireMember(servers, topic, [topic], instance_id="late") as third:
            third.join_refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
        found = finding(explained(servers, topic, "--v1", http), "join_refused")
    assert found["culprit"] == "wire at /127.0.0.1"
    assert "the group has group.max.size=2 members" in found["text"]
    assert "group.max.size" in found["remedies"][0]


def test_hanging_transaction_that_holds_a_member_is_named(servers: str, http: str, topic: str) -> None:
    filled(servers, topic)
    stored(servers, topic, topic, "latest")
    begin_hanging_transaction(servers, topic, 0, OLD_MS)
    with WireMember(servers, topic, [topic]) as member:
        member.join_alone({topic: [0]})
        found = finding(explained(servers, topic, "--v1", http), "transaction_open")
    assert found["culprit"] == f"producer id {HANGING_ID}, since offset 3"
    assert "pybroker txns hanging" in found["remedies"][0]


def test_consumer_that_gave_up_because_its_offset_is_gone_is_told(servers: str, topic: str) -> None:
    filled(servers, topic, records=5)
    stored(servers, topic, topic, "1")
    assert run(servers, "topics", "truncate", topic, "--before", "4", "-y").code == 0
    consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "auto.offset.reset": "error"})
    consumer.subscribe([topic])
    message = None
    while message is None:
        message = consumer.poll(10)
    error = message.error()
    assert error is not None, "auto.offset.reset=error refuses to go on"
    consumer.close()
    view = explained(servers, topic)
    assert "3 records that the group had not read" in finding(view, "offset_lost")["text"]
    assert finding(view, "no_members")["is_trouble"]


def test_record_that_a_member_cannot_read_is_named(servers: str, topic: str) -> None:
    filled(servers, topic, partitions=2, records=100)
    stored(servers, topic, topic, "1")
    is_over = threading.Event()
    with WireMember(servers, topic, [topic]) as member:
        member.join_alone({topic: [0, 1]})

        def read_partition_1() -> None:
            offset = 1
            while not is_over.wait(0.02):
                offset = min(offset + 1, 99)
                member.commit(topic, 1, offset)

        thread = threading.Thread(target=read_partition_1)
        thread.start()
        try:
            found = finding(explained(servers, topic), "partition_silent")
        finally:
            is_over.set()
            thread.join()
    assert f"not with {topic}:0: no commit" in found["text"]
    assert "the record at offset 1" in found["text"]
    assert f"pybroker consume {topic}:0 -o 1 -n 1" in found["remedies"][0]


def test_member_that_a_quota_delays_is_named(servers: str, http: str, topic: str) -> None:
    filled(servers, topic, records=40, size=9_000)
    stored(servers, topic, topic, "earliest")
    assert run(servers, "quotas", "set", "--client", topic, "--consume", "20kB").code == 0
    named = {"bootstrap.servers": servers, "group.id": topic, "client.id": topic, "enable.auto.commit": False}
    consumer = Consumer({**named, "max.partition.fetch.bytes": 10_000})
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.05)
    view = explained(servers, topic)
    assert f"19.5 KiB/s (consumer_byte_rate of client-id {topic})" in finding(view, "quota_set")["text"]
    delayed: list[dict[str, Any]] = []

    def sees_a_delay() -> bool:
        consumer.poll(0)
        view = explained(servers, topic, "--v1", http, watch="1")
        delayed.extend(each for each in view["findings"] if each["kind"] == "throttled")
        return bool(delayed)

    await_that(sees_a_delay, "a response is delayed")
    consumer.close()
    assert delayed[0]["culprit"].startswith(f"{topic} at /127.0.0.1")
    assert f"(consumer_byte_rate of client-id {topic})" in delayed[0]["text"]
    assert delayed[0]["is_trouble"]


@contextmanager
def joined(servers: str, topic: str, user: str) -> Iterator[Consumer]:
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": user}
    consumer = Consumer(
        {"bootstrap.servers": servers, **login, "sasl.password": "x", "group.id": topic, "client.id": f"of-{user}"}
    )
    consumer.subscribe([topic])
    while not consumer.assignment():
        consumer.poll(0.05)
    yield consumer
    consumer.close()


def test_member_whose_right_was_taken_away_is_named() -> None:
    module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
    login = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=PLAIN"]
    login.append(f'sasl.jaas.config={module} username="admin" password="x";')
    options = tuple(part for setting in login for part in ("-X", setting))
    guarded = {**SETTINGS, "authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:admin;User:ANONYMOUS"}
    listeners = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0",
        "security.inter.broker.protocol": "PLAINTEXT",
    }
    with Broker({**guarded, **listeners}, users={"admin": "x", "ana": "x"}) as broker:
        plain = broker.bootstrap_servers
        secured = str(broker.config.text("listeners")).split("SASL_PLAINTEXT://")[1]
        filled(plain, "orders")
        for option in ("--topic", "--group"):
            assert run(plain, "acls", "add", "--allow", "ana", "--read", option, "orders").code == 0
        stored(plain, "orders", "orders", "earliest")
        with joined(secured, "orders", "ana"):
            assert run(plain, "acls", "remove", "--topic", "orders", "-y").code == 0
            view = explained(secured, "orders", "--v1", str(broker.http_url), *options)
    found = finding(view, "right_missing")
    assert found["text"].startswith("User:ana may not Read topic orders: ")
    assert found["culprit"].startswith("of-ana at /127.0.0.1")
    assert found["remedies"][0] == "pybroker acls add --allow User:ana --read --topic orders"
    assert found["is_trouble"]


@pytest.mark.long
def test_static_member_that_went_without_a_word_is_named(servers: str, http: str, topic: str) -> None:
    filled(servers, topic)
    stored(servers, topic, topic, "earliest")
    gone = WireMember(servers, topic, [topic], instance_id="shelf", session_timeout_ms=12_000)
    gone.join_alone({topic: [0]})
    gone.close()
    found = finding(explained(servers, topic, "--v1", http, watch="7"), "member_gone")
    assert "a static member leaves without a word" in found["text"]
    assert "instance shelf" in found["culprit"]


def coordinator_of(servers: str, group: str) -> int:
    return int(explained(servers, group)["coordinator"])


def test_dead_brokers_of_a_group_are_named(tmp_path: Path) -> None:
    with three_brokers(tmp_path) as cluster:
        for broker_id in (1, 2, 3):
            cluster.create(f"on-{broker_id}", [broker_id])
            stored(cluster.bootstrap_servers, "billing", f"on-{broker_id}", "earliest")
        coordinator = coordinator_of(cluster.bootstrap_servers, "billing")
        other = coordinator % 3 + 1
        cluster.kill(other)
        servers = cluster.bootstrap_servers
        await_that(lambda: not explained(servers, "billing")["is_healthy"], "the brokers learn of the death")
        leaderless = explained(servers, "billing")
        cluster.kill(coordinator)
        without_coordinator = explained(cluster.bootstrap_servers, "billing", "--timeout", "0.5")
    assert finding(leaderless, "no_leader")["culprit"] == f"broker {other}, not alive"
    assert f"on-{other}:0 has no leader" in finding(leaderless, "no_leader")["text"]
    found = finding(without_coordinator, "no_coordinator")
    assert found["culprit"] == f"broker {coordinator}, which is not alive"
    assert f"{OFFSETS}-0, which keeps the group, has no leader" in found["text"]


def test_offsets_with_too_few_replicas_in_sync_are_told(tmp_path: Path) -> None:
    with three_brokers(tmp_path, {"offsets.topic.replication.factor": "3"}) as cluster:
        servers = cluster.bootstrap_servers
        cluster.create("orders", [1, 2, 3])
        stored(servers, "billing", "orders", "earliest")
        assert run(servers, "configs", "set", f"topic/{OFFSETS}", "min.insync.replicas=2").code == 0
        assert explained(servers, "billing")["is_healthy"]
        coordinator = coordinator_of(servers, "billing")
        others = [each for each in (1, 2, 3) if each != coordinator]
        for broker_id in others:
            cluster.kill(broker_id)
        servers = cluster.bootstrap_servers
        await_that(lambda: len(in_sync(servers)) == 1, "the dead replicas are out of sync")
        found = finding(explained(servers, "billing"), "offsets_under_min_isr")
        refused = run(servers, "groups", "reset", "billing", "--to", "latest", "--execute", "--timeout", "0.5")
    assert found["culprit"] == f"broker {others[0]}, {others[1]}, which are not in sync"
    assert "1 of 3 replicas in sync, but min.insync.replicas is 2" in found["text"]
    assert refused.code != 0, "the broker does refuse commits"


def in_sync(servers: str) -> list[int]:
    (topic,) = json.loads(run(servers, "topics", "describe", OFFSETS, "-o", "json").out)
    return list(topic["partitions"][0]["isr"])
