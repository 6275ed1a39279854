"""Commands show, explain and change groups of the protocol of KIP-848, on a real Kafka 4.1."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message
from pybroker.cli.explain.shapes import GroupExplanation, LagExplanation
from pybroker.cli.groups.shapes import GroupDescription, GroupListed, GroupPartition
from support.clients.commands import checked_json, rows_of, run
from support.processes.kafka_versions import started_kafka

pytestmark = pytest.mark.long

RECORDS, READ = 30, 10


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("kafka")
    with started_kafka("4.1.1", directory) as servers:
        assert run(servers, "topics", "create", "orders", "-p", "2", "-r", "1", "--wait").code == 0
        write_lines(servers, directory)
        yield servers


def write_lines(servers: str, directory: Path) -> None:
    (directory / "lines").write_text("".join(f"{number}\n" for number in range(RECORDS)))
    assert run(servers, "produce", "orders", "-p", "0", "-l", str(directory / "lines")).code == 0


def joined(servers: str, group: str) -> Consumer:
    """A member of the new protocol that has committed an offset behind ten records, and does not read on."""
    member = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "group.protocol": "consumer",
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    member.subscribe(["orders"])
    while len(member.assignment()) < 2:
        member.poll(0.1)
    read: list[Message[bytes, bytes]] = []
    while len(read) < READ:
        message = member.poll(1)
        if message is not None:
            read.append(message)
    member.commit(message=read[-1], asynchronous=False)
    return member


def test_group_with_a_member_is_listed_described_and_explained(servers: str) -> None:
    member = joined(servers, "billing")
    try:
        (listed,) = checked_json(servers, GroupListed, "groups", "list", "--lag")
        wanted = {"state": "Stable", "group_type": "consumer", "members": 1, "lag": RECORDS - READ}
        assert listed.items() >= wanted.items()
        (described,) = checked_json(servers, GroupDescription, "groups", "describe", "billing")
        assert (described["state"], described["group_type"], described["lag"]) == ("Stable", "consumer", RECORDS - READ)
        (shown,) = described["members"]
        assert (shown["client_id"], shown["topics"]) == ("reader", ["orders"])
        assert shown["assignment"] == [{"topic": "orders", "partitions": [0, 1]}]
        lagging, unread = checked_json(servers, GroupPartition, "groups", "lag", "billing")
        assert (lagging["partition"], lagging["lag"], lagging["client_id"]) == (0, RECORDS - READ, "reader")
        assert (unread["partition"], unread["committed"]) == (1, None)
        assert run(servers, "groups", "lag", "billing", "--fail-above", "5").code == 10
        explained = run(servers, "explain", "group", "billing", "-o", "json")
        (view,) = rows_of(explained.out, GroupExplanation)
        assert (view["state"], view["members"], view["lag"]) == ("Stable", 1, RECORDS - READ)
        (lag,) = rows_of(run(servers, "explain", "lag", "billing", "-o", "json").out, LagExplanation)
        assert (lag["lag"], lag["verdict"]) in [(RECORDS - READ, verdict) for verdict in ("ok", "stalled")]
        refused = run(servers, "groups", "reset", "billing", "--to", "earliest", "--execute")
        assert (refused.code, refused.err.count("\n")) == (1, 1)
        assert "reader" in refused.err or "member" in refused.err
    finally:
        member.close()


def test_group_without_members_is_explained_reset_and_deleted(servers: str) -> None:
    joined(servers, "empty").close()
    explained = run(servers, "explain", "group", "empty")
    assert "has NO MEMBERS" in explained.out
    assert run(servers, "groups", "reset", "empty", "--to", "5", "--execute").code == 0
    (described,) = checked_json(servers, GroupDescription, "groups", "describe", "empty")
    assert {each["committed"] for each in described["partitions"] if each["partition"] == 0} == {5}
    assert run(servers, "groups", "delete", "empty", "-y").code == 0
    assert "empty" not in json.loads(run(servers, "groups", "list", "-o", "json").out or "[]")


def test_group_that_does_not_exist_is_not_there(servers: str) -> None:
    for words in (("groups", "describe"), ("explain", "group"), ("groups", "lag")):
        ran = run(servers, *words, "biling")
        assert (ran.code, ran.out.strip() in ("", "[]")) == (3, True), ran
