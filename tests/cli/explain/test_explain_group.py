"""Groups that are stuck on purpose: ``explain group`` names the culprit and the reason."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pybroker import Broker
from pybroker.cli.explain.shapes import GroupExplanation
from pybroker.protocol.messages import offset_commit as oc
from support.clients.commands import Pybroker, rows_of
from support.clients.wire_client import WireClient
from support.clients.wire_member import WireMember, wait_for_coordinator

Fill = Callable[..., str]
NOW_MS = round(time.time() * 1000)
OLD_MS = NOW_MS - 3_600_000


@pytest.fixture
def explain(pybroker: Pybroker, http: str) -> Callable[..., dict[str, Any]]:
    """Explains a group; returns the view. The exit code must be that of its health."""

    def run(group: str) -> dict[str, Any]:
        ran = pybroker("explain", "group", group, "--v1", http, "--stuck-after", "0", "--for", "0.1", "-o", "json")
        (view,) = rows_of(ran.out, GroupExplanation)
        assert ran.code == (0 if view["is_healthy"] else 10)
        return view

    return run


Explain = Callable[..., dict[str, Any]]


def finding(view: dict[str, Any], kind: str) -> dict[str, Any]:
    (found,) = [each for each in view["findings"] if each["kind"] == kind]
    return dict(found)


def stored(pybroker: Pybroker, group: str, topic: str, offset: int | str) -> None:
    ran = pybroker("groups", "reset", group, "--to", str(offset), "--topics", topic, "--execute")
    assert ran.code == 0, ran.err


def test_healthy_group_has_no_finding(
    pybroker: Pybroker, explain: Explain, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(2, [OLD_MS])
    stored(pybroker, group, topic, "latest")
    with WireMember(servers, group, [topic]) as member:
        member.join_alone({topic: [0, 1]})
        view = explain(group)
    assert (view["is_healthy"], view["findings"], view["lag"]) == (True, [], 0)


def test_member_that_does_not_poll_is_named(explain: Explain, filled: Fill, servers: str, group: str) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    with WireMember(servers, group, [topic]) as slow, WireMember(servers, group, [topic]) as new:
        slow.join_alone({topic: [0]})
        new.begin_join()
        assert slow.heartbeat() != 0, "it is told to join again"
        view = explain(group)
    found = finding(view, "member_awaited")
    assert slow.member_id in found["culprit"]
    assert "still sends heartbeats" in found["text"]
    assert "max.poll.interval.ms" in found["remedies"][0]
    assert view["text"].startswith("is STUCK in PreparingRebalance")


def test_client_that_does_not_use_its_member_id_is_named(
    explain: Explain, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    with WireMember(servers, group, [topic]) as absent, WireMember(servers, group, [topic]) as present:
        present.join_alone({topic: [0]})
        absent.ask_for_id()
        present.begin_join()
        found = finding(explain(group), "member_awaited")
    assert found["culprit"] == absent.member_id
    assert "has not joined" in found["text"]


def test_leader_that_sends_no_assignment_is_named(explain: Explain, filled: Fill, servers: str, group: str) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    with WireMember(servers, group, [topic]) as leader:
        leader.join()
        found = finding(explain(group), "assignment_awaited")
    assert leader.member_id in found["culprit"]
    assert "as the leader it has not sent the assignment" in found["text"]


def test_instance_id_of_two_clients_is_named(explain: Explain, filled: Fill, servers: str, group: str) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    members = [WireMember(servers, group, [topic], instance_id="shelf-1") for _ in range(4)]
    members[0].join_alone({topic: [0]})
    for member in members[1:]:
        assert member.join().error_code == 0
    view = explain(group)
    for member in members:
        member.close()
    found = finding(view, "instance_id_shared")
    assert "shelf-1" in found["culprit"]
    assert "replaced 3 times" in found["text"]


def test_client_without_a_common_assignor_is_named(explain: Explain, filled: Fill, servers: str, group: str) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    with WireMember(servers, group, [topic]) as member, WireMember(servers, group, [topic]) as other:
        member.join_alone({topic: [0]})
        other.assignors = ("cooperative-sticky",)
        other.join_refused()
        found = finding(explain(group), "join_refused")
    assert found["culprit"] == "wire at /127.0.0.1"
    assert "offers cooperative-sticky, but the members of the group use range" in found["text"]


def test_client_that_joins_and_leaves_again_and_again_is_named(
    explain: Explain, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    for _ in range(3):
        with WireMember(servers, group, [topic]) as member:
            member.join_alone({topic: [0]})
            member.leave()
    found = finding(explain(group), "rebalances_often")
    assert found["culprit"] == "wire at /127.0.0.1"
    assert "6 of them begun by the same client" in found["text"]


def test_group_that_nobody_reads_with_is_told(pybroker: Pybroker, explain: Explain, filled: Fill, group: str) -> None:
    topic = filled(1, [OLD_MS] * 3)
    stored(pybroker, group, topic, 1)
    view = explain(group)
    assert "2 records wait" in finding(view, "no_members")["text"]
    assert "NO MEMBERS" in view["text"]


def test_offsets_lost_by_retention_are_told(
    pybroker: Pybroker, explain: Explain, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(1, [OLD_MS] * 5)
    stored(pybroker, group, topic, 1)
    with WireMember(servers, group, [topic]) as member:
        member.join_alone({topic: [0]})
        admin = AdminClient({"bootstrap.servers": servers})
        for future in admin.delete_records([TopicPartition(topic, 0, 4)]).values():
            future.result()
        found = finding(explain(group), "offset_lost")
    assert "3 records that the group had not read" in found["text"]
    assert member.member_id in found["culprit"]


def test_offset_behind_the_end_of_a_topic_made_anew_is_told(
    pybroker: Pybroker, explain: Explain, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(1, [OLD_MS] * 5)
    stored(pybroker, group, topic, "latest")
    with WireClient(servers, 30) as client:
        part = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=9)
        topics = [oc.OffsetCommitRequestTopic(name=topic, partitions=[part])]
        client.ask(oc.OffsetCommitRequest(group_id=group, topics=topics), 5)
    assert "offset 9 is behind the end of the log, 5" in finding(explain(group), "offset_lost")["text"]


def test_member_that_stands_still_is_named(
    pybroker: Pybroker, explain: Explain, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(2, [OLD_MS] * 3)
    stored(pybroker, group, topic, 1)
    with WireMember(servers, group, [topic]) as member:
        member.join_alone({topic: [0, 1]})
        found = finding(explain(group), "member_silent")
    assert member.member_id in found["culprit"]
    assert f"{topic}:0-1: no commit in 0.1 s, while the oldest unread record is 1 h" in found["text"]


def test_open_transaction_and_its_producer_are_named(
    pybroker: Pybroker, explain: Explain, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(1, [OLD_MS])
    stored(pybroker, group, topic, "latest")
    producer = Producer({"bootstrap.servers": servers, "transactional.id": topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(topic, b"value", timestamp=OLD_MS)
    producer.flush()
    with WireMember(servers, group, [topic]) as member:
        member.join_alone({topic: [0]})
        found = finding(explain(group), "transaction_open")
    producer.abort_transaction()
    assert found["culprit"].startswith("producer id ")
    assert found["culprit"].endswith("since offset 1")
    assert found["is_trouble"]


def test_subscription_to_a_missing_topic_is_told(explain: Explain, filled: Fill, servers: str, group: str) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    with WireMember(servers, group, [topic, "no-such-topic"]) as member:
        member.join_alone({topic: [0]})
        found = finding(explain(group), "topic_missing")
    assert "no-such-topic" in found["text"]
    assert member.member_id in found["culprit"]


def test_partition_that_no_member_has_is_told(explain: Explain, filled: Fill, servers: str, group: str) -> None:
    topic = filled(4, [])
    wait_for_coordinator(servers, group)
    with WireMember(servers, group, [topic]) as member:
        member.join_alone({topic: [0, 2]})
        found = finding(explain(group), "partition_unassigned")
    assert f"{topic}:1,3 is subscribed to" in found["text"]


def test_member_without_partitions_is_only_worth_knowing(
    explain: Explain, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    with WireMember(servers, group, [topic]) as first, WireMember(servers, group, [topic]) as second:
        first.begin_join()
        first.finish_join()
        second.begin_join()
        first.join()
        second.finish_join()
        first.sync({first: {topic: [0]}, second: {}})
        second.sync()
        view = explain(group)
    assert view["is_healthy"]
    assert second.member_id in finding(view, "members_idle")["culprit"]


def test_group_without_coordinator_is_explained(pybroker: Pybroker) -> None:
    with Broker({"offsets.topic.replication.factor": "3"}) as broker:
        ran = pybroker("explain", "group", "orders", "-b", broker.bootstrap_servers, "--timeout", "0.2")
    assert ran.code == 10
    assert "orders has NO COORDINATOR" in ran.out
    assert "offsets.topic.replication.factor" in ran.out


def test_without_the_address_of_a_pybroker_a_stuck_rebalance_is_seen(
    pybroker: Pybroker, filled: Fill, servers: str, group: str
) -> None:
    topic = filled(1, [])
    wait_for_coordinator(servers, group)
    with WireMember(servers, group, [topic]) as slow, WireMember(servers, group, [topic]) as new:
        slow.join_alone({topic: [0]})
        new.begin_join()
        ran = pybroker("explain", "group", group, "--for", "0.1", "--stuck-after", "0")
        assert ran.code == 10
        assert "Kafka's protocol does not tell which member it waits for" in " ".join(ran.out.split())
        assert "(source: protocol)" in ran.out
    assert pybroker("explain", "group", f"{group}-x").code == 3
