"""Tests of Kafka Connect 3.9.1 in distributed mode: its workers are a group, and its state is in topics."""

from contextlib import ExitStack
from pathlib import Path

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from pybroker.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from support.clients.connect_worker import Worker
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.wire_client import WireClient


def group_of_workers(servers: str, name: str) -> DescribedGroup:
    with WireClient(servers) as client:
        (group,) = client.ask(DescribeGroupsRequest(groups=[name]), 5).groups
    assert isinstance(group, DescribedGroup)
    return group


def topic_setting(servers: str, topic: str, setting: str) -> object:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    (described,) = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]).values()
    admin.close()
    return described[topic][setting]["value"]


def partition_count(servers: str, topic: str) -> int:
    admin = KafkaAdminClient(bootstrap_servers=servers)
    (described,) = admin.describe_topics([topic])
    admin.close()
    return len(described["partitions"])


def test_connect_workers_share_connectors_and_take_over_from_each_other(
    servers: str, topic: str, tmp_path: Path
) -> None:
    workers, source, sink = f"workers-of-{topic}", tmp_path / "source.txt", tmp_path / "sink.txt"

    def add(*lines: str) -> None:
        with source.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    def carried() -> bool:
        return sink.exists() and sink.read_text() == source.read_text()

    def has_members(amount: int) -> bool:
        group = group_of_workers(servers, workers)
        return (group.group_state, len(group.members)) == ("Stable", amount)

    add("one", "two")
    with ExitStack() as of_first, ExitStack() as of_second:
        first = Worker(servers, workers, tmp_path, of_first)
        first.wait_until(lambda: first.ask("/connectors") == [])
        first.wait_until(lambda: has_members(1))
        for kind, partitions in (("offset", 3), ("config", 1), ("status", 2)):
            assert topic_setting(servers, f"{workers}-{kind}", "cleanup.policy") == "compact"
            assert partition_count(servers, f"{workers}-{kind}") == partitions
        second = Worker(servers, workers, tmp_path, of_second)
        second.wait_until(lambda: has_members(2))
        group = group_of_workers(servers, workers)
        assert (group.protocol_type, group.protocol_data) == ("connect", "sessioned")

        first.create(f"source-{topic}", "Source", file=str(source), topic=topic)
        second.create(f"sink-{topic}", "Sink", file=str(sink), topics=topic)
        first.wait_until(lambda: len(first.places()) == 4 and len(set(first.places().values())) == 2)
        second.wait_until(carried)
        shows_what_kafka_shows(servers, workers, f"connect-sink-{topic}")

        of_first.close()
        second.wait_until(lambda: has_members(1))
        second.wait_until(lambda: len(second.places()) == 4 and len(set(second.places().values())) == 1)
        add("three")
        second.wait_until(carried)

    add("four")
    group = group_of_workers(servers, workers)
    assert (group.group_state, group.protocol_type, group.members) == ("Empty", "connect", [])
    with ExitStack() as of_third:
        third = Worker(servers, workers, tmp_path, of_third)
        third.wait_until(carried)
    assert sink.read_text().split() == ["one", "two", "three", "four"]


def shows_what_kafka_shows(servers: str, workers: str, consumers: str) -> None:
    """Checks Kafka's tools: a sink's consumers are a consumer group, the workers are a group of another type."""

    def groups(*arguments: str) -> str:
        command = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
        return run_tool(command, "--bootstrap-server", servers, "--timeout", "60000", *arguments)

    with WireClient(servers) as client:
        listed = {one.group_id: one for one in client.ask(ListGroupsRequest(), 5).groups}
    assert [listed[group].protocol_type for group in (workers, consumers)] == ["connect", "consumer"]
    assert (listed[workers].group_state, listed[workers].group_type) == ("Stable", "classic")
    names = groups("--list").split()
    assert consumers in names
    assert workers not in names
    assert f"GroupId {workers} is not a consumer group (connect)." in groups("--describe", "--group", workers)
    assert "connector-consumer-sink" in groups("--describe", "--group", consumers)
