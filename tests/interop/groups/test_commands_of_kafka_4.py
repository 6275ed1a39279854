"""Runs Kafka 4.2.0's scripts for groups against pybroker and Apache Kafka 4.2.0, and compares what they print."""

import re
import shlex
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, Producer
from interop.side_by_side.test_consumer_groups import side_by_side
from support.clients.share_members import ShareMembers
from support.clients.tool_server import run_main
from support.clients.topics import create_topic
from support.processes.kafka_versions import libs_of

pytestmark = pytest.mark.long

VERSION = "4.2.0"
SETTINGS = {
    "broker.id": "1",
    "group.coordinator.rebalance.protocols": "classic,consumer,share",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
SCRIPTS = {
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
}
VIEWS = ("", "--offsets", "--offsets --verbose", "--members", "--members --verbose", "--state", "--state --verbose")
LISTS = ("", "--state", "--state Empty", "--state stable")
SETTING = "kafka-configs --entity-type groups --entity-name {group}"
SETTINGS_OF_GROUPS = [
    f"{SETTING} --alter --add-config share.auto.offset.reset=earliest,share.record.lock.duration.ms=20000",
    f"{SETTING} --describe",
    f"{SETTING} --alter --add-config share.session.timeout.ms=1",
    f"{SETTING} --alter --add-config consumer.heartbeat.interval.ms=60000",
    f"{SETTING} --alter --add-config share.auto.offset.reset=nonsense",
    f"{SETTING} --alter --add-config nonsense=1",
    f"{SETTING} --alter --add-config consumer.session.timeout.ms=50000",
    f"{SETTING} --describe",
    "kafka-configs --entity-type groups --describe",
    f"{SETTING} --alter --delete-config share.record.lock.duration.ms,consumer.session.timeout.ms",
    f"{SETTING} --describe",
]
SHARE_GROUP = "kafka-share-groups --group {group}"
DESCRIBED_SHARE_GROUP = [f"{SHARE_GROUP} --describe {view}" for view in VIEWS]
READ_SHARE_GROUP = [
    *(f"kafka-share-groups --list {which}" for which in LISTS),
    *DESCRIBED_SHARE_GROUP,
    "kafka-share-groups --describe --all-groups",
    "kafka-share-groups --describe --group nobody",
    "kafka-groups --list",
    "kafka-groups --list --share",
    "kafka-groups --list --group-type share",
]
CHANGED_SHARE_GROUP = [
    *(
        f"{SHARE_GROUP} --reset-offsets {what}"
        for what in (
            "--topic orders --to-earliest --dry-run",
            "--topic orders:0 --to-earliest --execute",
            "--all-topics --to-datetime 2020-01-01T00:00:00.000 --execute",
            "--topic other --to-latest --execute",
            "--topic absent --to-latest --execute",
        )
    ),
    f"{SHARE_GROUP} --describe",
    f"{SHARE_GROUP} --delete-offsets --topic other",
    f"{SHARE_GROUP} --delete-offsets --topic absent",
    f"{SHARE_GROUP} --describe",
    "kafka-share-groups --group absent --reset-offsets --topic orders --to-earliest --execute",
    "kafka-share-groups --group absent2 --delete-offsets --topic orders",
    f"{SHARE_GROUP} --delete",
    f"{SHARE_GROUP} --delete",
    "kafka-share-groups --list",
]
CONSUMER_GROUP = "kafka-consumer-groups --group {group}"
DESCRIBED_CONSUMER_GROUP = [f"{CONSUMER_GROUP} --describe {view}" for view in VIEWS]
READ_CONSUMER_GROUP = [
    *(f"kafka-consumer-groups --list {which}" for which in (*LISTS, "--type", "--type consumer", "--type classic")),
    *DESCRIBED_CONSUMER_GROUP,
    "kafka-groups --list --consumer",
    "kafka-groups --list --protocol consumer",
]
DELETED_OFFSETS = f"{CONSUMER_GROUP} --delete-offsets --topic orders"
CHANGED_CONSUMER_GROUP = [
    *(
        f"{CONSUMER_GROUP} --reset-offsets {what}"
        for what in (
            "--topic orders --to-earliest --dry-run",
            "--topic orders:0 --shift-by -1 --execute",
            "--all-topics --to-offset 2 --execute",
            "--topic absent --to-earliest --execute",
        )
    ),
    f"{CONSUMER_GROUP} --describe",
    DELETED_OFFSETS,
    DELETED_OFFSETS,
    f"{CONSUMER_GROUP} --describe",
    f"{CONSUMER_GROUP} --delete",
    f"{CONSUMER_GROUP} --delete",
    "kafka-consumer-groups --list",
]


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Yields the addresses of Kafka and of pybroker. Both have five records in each partition of two topics."""
    for pair in side_by_side(tmp_path_factory.mktemp("group_commands"), SETTINGS):
        servers = [f"{host}:{port}" for host, port in pair]
        for each in servers:
            create_topic(each, "orders", 2)
            create_topic(each, "other", 1)
            producer = Producer({"bootstrap.servers": each})
            for topic, partition in (("orders", 0), ("orders", 1), ("other", 0)):
                for number in range(5):
                    producer.produce(topic, str(number), partition=partition)
            assert producer.flush() == 0
        yield servers


def printed(servers: str, group: str, line: str) -> str:
    script, *words = shlex.split(line.format(group=group))
    ran = run_main(SCRIPTS[script], "--bootstrap-server", servers, *words, libs=libs_of(VERSION))
    text = re.sub(r"\n\tat .*|\nCaused by: .*", "", ran.stdout + ran.stderr)
    text = re.sub(r"log4j:.*\n|SLF4J.*\n", "", text).replace(servers, "<address>")
    text = re.sub(r"(?<![\w/+-])[\w/+-]{22}(?![\w/+-])|\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "<id>", text)
    text = re.sub(r"(InvalidConfigurationException): .*", r"\1", text)  # pybroker names the bounds and the forms, too
    rows = [re.sub(r"\s+", " ", row).strip() for row in text.splitlines()]
    return f"{line}\n" + "\n".join(sorted(filter(None, rows)))


def compare(addresses: list[str], group: str, lines: list[str]) -> None:
    of_kafka, of_pybroker = ([printed(each, group, line) for line in lines] for each in addresses)
    different = [pair for pair in zip(of_kafka, of_pybroker, strict=True) if pair[0] != pair[1]]
    assert not different, "\n\n".join(f"of Kafka: {ours}\nof pybroker: {theirs}" for ours, theirs in different)


def test_settings_of_groups_are_changed_and_printed_as_with_kafka(addresses: list[str]) -> None:
    compare(addresses, "settings", SETTINGS_OF_GROUPS)


def test_share_groups_are_printed_and_changed_as_with_kafka(addresses: list[str]) -> None:
    compare(addresses, "s", SETTINGS_OF_GROUPS[:1])
    for servers in addresses:
        with ShareMembers(servers, "s", "orders", libs_of(VERSION)) as members:
            member = members.start("implicit")
            members.wait_until(lambda member=member: sum(member.confirmed.values()) == 10)  # type: ignore[misc]
            member.leave()
    compare(addresses, "s", [*DESCRIBED_SHARE_GROUP, *CHANGED_SHARE_GROUP])


def test_share_groups_with_a_member_are_printed_and_not_changed_as_with_kafka(addresses: list[str]) -> None:
    compare(addresses, "m", SETTINGS_OF_GROUPS[:1])
    first, second = (ShareMembers(servers, "m", "orders", libs_of(VERSION)) for servers in addresses)
    with first, second:
        for each in (first, second):
            member = each.start("implicit")
            each.wait_until(lambda member=member: sum(member.confirmed.values()) == 10)  # type: ignore[misc]
        compare(addresses, "m", [*READ_SHARE_GROUP, *CHANGED_SHARE_GROUP])


def test_script_says_that_an_absent_consumer_group_does_not_exist(addresses: list[str]) -> None:
    """Kafka 4 has an error for it in DescribeGroups v6. pybroker lists v5, as Kafka 3.9: the group's state is Dead."""
    of_kafka, of_pybroker = (printed(each, "nobody", f"{CONSUMER_GROUP} --describe") for each in addresses)
    assert "GroupIdNotFoundException: Group nobody not found." in of_kafka
    assert "Error: Consumer group 'nobody' does not exist." in of_pybroker


def joined(servers: str) -> Consumer:
    """A member that has committed the offsets behind all records."""
    settings = {"group.id": "c", "group.protocol": "consumer", "auto.offset.reset": "earliest", "client.id": "reader"}
    consumer = Consumer({**settings, "bootstrap.servers": servers, "enable.auto.commit": False})
    consumer.subscribe(["orders"])
    count = 0
    while count < 10:
        message = consumer.poll(0.2)
        count += message is not None and message.error() is None
    consumer.commit(asynchronous=False)
    return consumer


def test_consumer_groups_are_printed_and_changed_as_with_kafka(addresses: list[str]) -> None:
    members = [joined(servers) for servers in addresses]
    compare(addresses, "c", [*READ_CONSUMER_GROUP, *CHANGED_CONSUMER_GROUP])
    for member in members:
        member.close()
    described = [line for line in DESCRIBED_CONSUMER_GROUP if not line.endswith("--state --verbose")]  # KAFKA-20442
    until_offsets_are_gone = CHANGED_CONSUMER_GROUP.index(DELETED_OFFSETS) + 1  # then the group ends, as in Kafka 3.9
    compare(addresses, "c", [*described, *CHANGED_CONSUMER_GROUP[:until_offsets_are_gone]])
