"""confluent-kafka's consumers of the consumer protocol (KIP-848) read, commit, share partitions and leave."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pybroker import Broker
from pybroker.cli.kafka_scripts.configs_command import configs_command
from pybroker.protocol.messages.list_client_metrics_resources import ListClientMetricsResourcesRequest
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.wire_client import WireClient

PARTITIONS = 4
_PATIENCE_S = 60.0
OFTEN = {"group.consumer.min.heartbeat.interval.ms": "200", "group.consumer.heartbeat.interval.ms": "200"}
"""Members learn of each change by a heartbeat."""


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker(OFTEN) as broker:
        yield broker.bootstrap_servers


class Member:
    """A consumer that counts what it reads."""

    def __init__(self, servers: str, group: str, topics: list[str]) -> None:
        self.consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 1_000,
            }
        )
        self.values: list[str] = []
        self.consumer.subscribe(topics)

    def poll(self) -> None:
        message = self.consumer.poll(0.1)
        if message is not None:
            error = message.error()
            assert error is None, error
            value = message.value()
            assert value is not None
            self.values.append(value.decode())

    @property
    def partitions(self) -> list[int]:
        return sorted(each.partition for each in self.consumer.assignment())


def poll_until(condition: Callable[[], bool], *members: Member) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, [(each.partitions, len(each.values)) for each in members]
        for member in members:
            member.poll()


def produce(servers: str, topic: str, amount: int) -> list[str]:
    producer = Producer({"bootstrap.servers": servers})
    values = [f"value {number}" for number in range(amount)]
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % PARTITIONS)
    assert producer.flush(60) == 0
    return values


def test_members_share_partitions_commit_and_leave(servers: str, topic: str, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()
    first_values = produce(servers, topic, 20)
    first = Member(servers, group, [topic])
    poll_until(lambda: len(first.values) == 20, first)
    assert sorted(first.values) == sorted(first_values)
    first.consumer.commit(asynchronous=False)

    second = Member(servers, group, [topic])
    poll_until(lambda: len(first.partitions) == len(second.partitions) == 2, first, second)
    assert sorted(first.partitions + second.partitions) == list(range(PARTITIONS))
    (listed,) = [each for each in admin.list_consumer_groups().result().valid if each.group_id == group]
    assert listed.type.name == "CONSUMER"
    described = admin.describe_consumer_groups([group])[group].result()
    assert described.state is ConsumerGroupState.STABLE
    assert sorted(len(each.assignment.topic_partitions) for each in described.members) == [2, 2]

    first.values.clear()
    produce(servers, topic, 20)
    poll_until(lambda: len(first.values) + len(second.values) == 20, first, second)
    first.consumer.commit(asynchronous=False)
    second.consumer.commit(asynchronous=False)
    second.consumer.close()
    poll_until(lambda: first.partitions == list(range(PARTITIONS)), first)
    committed = first.consumer.committed([TopicPartition(topic, index) for index in range(PARTITIONS)], 30)
    assert [each.offset for each in committed] == [10] * PARTITIONS
    first.consumer.close()
    assert admin.describe_consumer_groups([group])[group].result().state is ConsumerGroupState.EMPTY


def test_member_reads_the_topics_whose_whole_names_match_its_pattern(servers: str, topic: str, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    names = [f"{topic}.{suffix}" for suffix in ("a1", "b2", "a1.more", "cc")]
    for created in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        created.result()
    for name in names:
        produce(servers, name, 8)
    member = Member(servers, group, [rf"^{topic}\.[[:alpha:]]\d"])
    poll_until(lambda: len(member.values) == 16, member)
    assert {each.topic for each in member.consumer.assignment()} == {f"{topic}.a1", f"{topic}.b2"}
    member.consumer.close()


def test_pattern_that_re2_does_not_take_is_refused(servers: str, group: str) -> None:
    member = Member(servers, group, [r"^(a)\1"])
    message = None
    deadline = time.monotonic() + _PATIENCE_S
    while message is None:
        assert time.monotonic() < deadline
        message = member.consumer.poll(0.5)
    error = message.error()
    assert error is not None
    assert "regular expression is not valid" in error.str()
    member.consumer.close()


def test_group_changes_its_protocol_when_it_is_empty(servers: str, topic: str, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result()
    produce(servers, topic, 20)
    for number, protocol in enumerate(("classic", "consumer", "classic")):
        consumer = Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": group,
                "group.protocol": protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
            }
        )
        consumer.subscribe([topic])
        message = None
        deadline = time.monotonic() + _PATIENCE_S
        while message is None:
            assert time.monotonic() < deadline
            message = consumer.poll(0.5)
        assert message.error() is None
        position = TopicPartition(topic, message.partition() or 0, number + 1)
        consumer.commit(offsets=[position], asynchronous=False)
        assert consumer.committed([position], 30)[0].offset == number + 1
        consumer.close()


def test_kafka_configs_sets_describes_and_deletes_settings_of_a_group(
    servers: str, group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(*arguments: str) -> str:
        line = ["--bootstrap-server", servers, "--entity-type", "groups", "--entity-name", group, *arguments]
        assert configs_command(line) == 0
        return capsys.readouterr().out

    session = "consumer.session.timeout.ms=50000"
    assert run("--alter", "--add-config", session) == f"Completed updating config for group {group}.\n"
    assert run("--describe").splitlines()[1:] == [
        f"  {session} sensitive=false synonyms={{DYNAMIC_GROUP_CONFIG:{session}}}"
    ]
    run("--alter", "--delete-config", "consumer.session.timeout.ms")
    assert len(run("--describe").splitlines()) == 1
    default = "consumer.session.timeout.ms=45000"
    assert f"  {default} sensitive=false synonyms={{DEFAULT_CONFIG:{default}}}" in run("--describe", "--all")


def test_groups_that_have_settings_of_their_own_are_listed(servers: str, topic: str, group: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    change = ["--alter", "--add-config", "share.isolation.level=read_committed"]
    assert configs_command(["--bootstrap-server", servers, "--group", group, *change]) == 0
    with WireClient(servers, _PATIENCE_S) as client:
        broker = str(client.ask(MetadataRequest(), 9).brokers[0].node_id)

        def listed(*types: int) -> set[tuple[int, str]]:
            answer = client.ask(ListClientMetricsResourcesRequest(resource_types=list(types)), 1)
            assert answer.error_code == 0
            return {(each.resource_type, each.name) for each in answer.client_metrics_resources}

        assert (32, group) in listed(32) <= listed()
        assert {each for each in listed() if each[0] in (4, 8)} == {(4, broker), (8, broker)}
        assert (2, topic) in listed(2)
        assert client.ask(ListClientMetricsResourcesRequest(resource_types=[77]), 1).error_code == 35
        assert client.ask(ListClientMetricsResourcesRequest(), 0).client_metrics_resources == []
