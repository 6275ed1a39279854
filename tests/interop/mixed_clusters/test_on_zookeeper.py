"""Tests of one broker on a real ZooKeeper: stock clients, a tree shared with Kafka in turn, and ends of sessions."""

import os
import re
import signal
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import KafkaError, TopicAlreadyExistsError
from kazoo.client import KazooClient
from pybroker.controller.features import TRANSACTION_VERSION
from support.clients.kafka_tools import TOOLS, run_tool
from support.processes.broker_process import BrokerProcess, DidNotStartError
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port
from support.processes.secured_zookeeper import SecuredZooKeeper
from support.processes.zookeeper_tree import TreeNode, client_of, read_tree
from support.time.patience import await_that

SETTINGS = {
    "broker.id": "1",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}
SHORT_SESSION = {"zookeeper_session_timeout_ms": "3000", "pybroker_zookeeper_guard": "false"}
ROOTS = count()


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    directory = tmp_path_factory.mktemp("zookeeper")
    process = ZooKeeperProcess(directory, {"maxSessionTimeout": "3600000"}).start()
    yield process
    process.stop()


@pytest.fixture
def connect(zookeeper: ZooKeeperProcess) -> str:
    """Returns the `zookeeper.connect` of the test's own tree."""
    return f"{zookeeper.connect}/clusters/{next(ROOTS)}"


def on_zookeeper(directory: Path, connect: str, **settings: str) -> BrokerProcess:
    named = {name.replace("_", "."): value for name, value in settings.items()}
    return BrokerProcess(directory, {**SETTINGS, "zookeeper.connect": connect, **named})


def produce(servers: str, topic: str, values: range) -> None:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    failed: list[object] = []

    def delivered(error: object, _message: Message) -> None:
        if error is not None:
            failed.append(error)

    for value in values:
        producer.produce(topic, str(value).encode(), partition=0, on_delivery=delivered)
    producer.flush()
    assert not failed


def consume(servers: str, topic: str, amount: int, group: str = "readers") -> list[int]:
    """Returns the next values of partition 0 that the group has not read."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    values: list[int] = []
    while len(values) < amount:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            values.append(int(message.value() or b""))
    consumer.commit(asynchronous=False)
    consumer.close()
    return values


def create_topic(servers: str, name: str, partitions: int = 1, **settings: str) -> None:
    """Creates a topic; retries while the broker has no session or there is no controller."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    configs = {setting.replace("_", "."): value for setting, value in settings.items()}
    topic = NewTopic(name, partitions, 1, topic_configs=configs)

    def is_created() -> bool:
        try:
            admin.create_topics([topic])
        except TopicAlreadyExistsError:
            return True
        except (
            KafkaError,
            RuntimeError,
        ):  # the latter after two brokers in a row answered that they are not the controller
            return False
        return True

    await_that(is_created, f"topic {name} is created")
    admin.close()


def refused(broker: BrokerProcess) -> DidNotStartError:
    with pytest.raises(DidNotStartError) as caught:
        broker.start()
    broker.stop()
    return caught.value


# -- start and stop


def test_broker_on_zookeeper_serves_stops_and_restarts(tmp_path: Path, connect: str) -> None:
    broker = on_zookeeper(tmp_path, connect)
    with broker:
        create_topic(broker.bootstrap_servers, "topic", 2)
        produce(broker.bootstrap_servers, "topic", range(100))
        assert consume(broker.bootstrap_servers, "topic", 60) == list(range(60))
    tree = read_tree(connect)
    assert not [path for path, node in tree.items() if node.is_ephemeral]
    with broker:
        produce(broker.bootstrap_servers, "topic", range(100, 110))
        assert consume(broker.bootstrap_servers, "topic", 50)[:40] == list(range(60, 100))
    assert " ERROR " not in broker.output
    assert "Traceback" not in broker.output


def test_start_without_zookeeper_fails_with_one_line(tmp_path: Path) -> None:
    address = f"127.0.0.1:{free_port()}"
    error = refused(on_zookeeper(tmp_path, address, zookeeper_connection_timeout_ms="500"))
    assert error.exit_code == 1
    assert f"no session with ZooKeeper at {address} within 500 ms" in error.output.strip().splitlines()[-1]
    assert "Traceback" not in error.output


# -- the tree, shared with Kafka


def use(servers: str) -> None:
    """Performs one operation of each kind that leaves a trace in the tree."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic("kept", 2, 1, topic_configs={"retention.ms": "100000"}), NewTopic("deleted", 1, 1)])
    admin.create_partitions({"kept": NewPartitions(3)})
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, "kept", {"segment.bytes": "20000"})])
    admin.alter_configs([ConfigResource(ConfigResourceType.BROKER, "1", {"log.cleaner.threads": "2"})])
    produce(servers, "kept", range(10))
    assert consume(servers, "kept", 10) == list(range(10))
    admin.delete_topics(["deleted"])
    await_that(lambda: "deleted" not in admin.list_topics(), "the topic is gone")
    admin.close()


def settled(connect: str | KazooClient) -> Mapping[str, TreeNode]:
    """Returns the tree after all changes in progress are done."""
    with client_of(connect) as client:
        await_that(lambda: not client.get_children("/admin/delete_topics"), "topics are deleted")
    return read_tree(connect)


def lived_in(
    broker: KafkaProcess | BrokerProcess, client: Callable[[], str | KazooClient]
) -> list[dict[str, TreeNode]]:
    """Returns the tree of a used broker, before and after its stop."""
    broker.start()
    use(broker.bootstrap_servers)
    trees = [comparable(settled(client()))]
    broker.stop()
    return [*trees, comparable(read_tree(client()))]


def comparable(tree: Mapping[str, TreeNode]) -> dict[str, TreeNode]:
    """Returns the tree without values of one cluster, one moment or one port."""
    return {path: node._replace(value=_without_chance(path, node.value)) for path, node in sorted(tree.items())}


def _without_chance(path: str, value: object) -> object:
    if path == "/cluster/id":
        return "an id"
    if not isinstance(value, dict):
        return value
    chance = {"topic_id", "timestamp", "port"}
    value = {name: "?" if name in chance else each for name, each in value.items()}
    if list(value.get("features", ())) == [TRANSACTION_VERSION]:
        value["features"] = {}  # Kafka 3.9 supports none
    if "endpoints" in value:
        value["endpoints"] = [re.sub(r":\d+$", ":?", endpoint) for endpoint in value["endpoints"]]
    return value


def test_tree_equals_kafkas_after_the_same_operations(
    tmp_path: Path, zookeeper: ZooKeeperProcess, connect: str
) -> None:
    broker = on_zookeeper(tmp_path / "pybroker", connect)
    of_kafka = f"{zookeeper.connect}/clusters/{next(ROOTS)}"
    kafka = KafkaProcess(tmp_path / "kafka", zookeeper, {**SETTINGS, "zookeeper.connect": of_kafka})
    assert lived_in(broker, lambda: connect) == lived_in(kafka, lambda: of_kafka)
    with broker:
        described = run_tool(
            f"{TOOLS}.TopicCommand", "--bootstrap-server", broker.bootstrap_servers, "--describe", "--topic", "kept"
        )
        assert "PartitionCount: 3" in described


def test_acls_of_nodes_equal_kafkas(tmp_path: Path) -> None:
    """With zookeeper.set.acl; ZooKeeper identifies clients by their certificates."""
    zookeeper = SecuredZooKeeper(tmp_path / "zookeeper")
    zookeeper.process.start()
    try:
        ours = BrokerProcess(tmp_path / "pybroker", {**SETTINGS, **zookeeper.properties("/a/pybroker")})
        netty = {"zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNetty"}
        settings = {**SETTINGS, **zookeeper.properties("/a/kafka"), **netty}
        theirs = KafkaProcess(tmp_path / "kafka", zookeeper.process, settings)
        of_pybroker = lived_in(ours, lambda: zookeeper.client("/a/pybroker"))
        of_kafka = lived_in(theirs, lambda: zookeeper.client("/a/kafka"))
        assert of_pybroker == of_kafka
        assert len({node.acl for node in of_kafka[0].values()}) == 3, "open ones, secret ones, and all others"
        with client_of(zookeeper.client("")) as client:
            assert client.get_acls("/a/pybroker")[0] == client.get_acls("/a/kafka")[0]
    finally:
        ours.kill()
        theirs.kill()
        zookeeper.process.kill()


def test_broker_authenticates_to_zookeeper_by_digest(tmp_path: Path, zookeeper: ZooKeeperProcess) -> None:
    connect = f"{zookeeper.connect}/secured"  # all nodes above the tree have the same owner
    digest = {"pybroker_zookeeper_digest": "brokers:secret", "zookeeper_set_acl": "true"}
    with on_zookeeper(tmp_path / "one", connect, **digest), client_of(connect) as client:
        acls, _ = client.get_acls("/brokers/ids/1")
        assert {(acl.id.scheme, acl.perms) for acl in acls} == {("digest", 31), ("world", 1)}
        assert all(acl.id.id.startswith("brokers:") for acl in acls if acl.id.scheme == "digest")
    for wrong in ({}, {"pybroker_zookeeper_digest": "brokers:guessed"}):
        told = refused(on_zookeeper(tmp_path / "two", connect, broker_id="2", **wrong)).output
        assert re.search(r"^pybroker: /\S+: ZooKeeper does not let .*digest", told, re.MULTILINE)
        assert "Traceback" not in told
    on_zookeeper(tmp_path / "two", connect, broker_id="2", **digest).start().stop()


@pytest.mark.long
def test_kafka_takes_over_tree_and_log_directory_and_hands_them_back(
    tmp_path: Path, zookeeper: ZooKeeperProcess, connect: str
) -> None:
    broker = on_zookeeper(tmp_path, connect)
    with broker:
        create_topic(broker.bootstrap_servers, "topic")
        produce(broker.bootstrap_servers, "topic", range(10))
        assert consume(broker.bootstrap_servers, "topic", 5)[:5] == list(range(5))
    settings = {**SETTINGS, "zookeeper.connect": connect, "log.dirs": str(broker.log_directory)}
    kafka = KafkaProcess(tmp_path / "kafka", zookeeper, settings).start()
    produce(kafka.bootstrap_servers, "topic", range(10, 20))
    create_topic(kafka.bootstrap_servers, "of-kafka")
    produce(kafka.bootstrap_servers, "of-kafka", range(10))
    assert consume(kafka.bootstrap_servers, "topic", 20, "from the beginning") == list(range(20))
    kafka.stop()
    assert not [line for line in kafka.lines if "] ERROR " in line]
    with broker:
        produce(broker.bootstrap_servers, "topic", range(20, 30))
        assert consume(broker.bootstrap_servers, "topic", 30, "all of it") == list(range(30))
        assert consume(broker.bootstrap_servers, "of-kafka", 10) == list(range(10))
    assert " ERROR " not in broker.output


# -- sessions


def broker_epoch(connect: str) -> int:
    """Returns the creation transaction id of the broker's node; -1 if it does not exist."""
    with client_of(connect) as client:
        stat = client.exists("/brokers/ids/1")
    return -1 if stat is None else stat.czxid


def test_killed_broker_waits_for_its_old_session_to_end(tmp_path: Path, connect: str) -> None:
    broker = on_zookeeper(tmp_path, connect, **SHORT_SESSION)
    broker.start()
    create_topic(broker.bootstrap_servers, "topic")
    produce(broker.bootstrap_servers, "topic", range(10))
    before = broker_epoch(connect)
    broker.kill()
    with broker:
        assert broker_epoch(connect) > before
        produce(broker.bootstrap_servers, "topic", range(10, 20))
        assert consume(broker.bootstrap_servers, "topic", 20) == list(range(20))


def test_killed_broker_is_noticed_at_once_by_its_session_guard(tmp_path: Path, connect: str) -> None:
    """Its session would last much longer than the test."""
    broker = on_zookeeper(tmp_path, connect, zookeeper_session_timeout_ms="3600000")
    broker.start()
    before = broker_epoch(connect)
    broker.kill()
    await_that(lambda: broker_epoch(connect) == -1, "its node is gone")
    with broker:
        assert broker_epoch(connect) > before


def test_broker_with_a_taken_id_stops_and_names_the_other_broker(tmp_path: Path, connect: str) -> None:
    with on_zookeeper(tmp_path / "first", connect) as first:
        before = broker_epoch(connect)
        last = (
            refused(on_zookeeper(tmp_path / "second", connect, zookeeper_session_timeout_ms="1000"))
            .output.strip()
            .splitlines()[-1]
        )
        assert "broker id 1 is taken by a live broker" in last
        assert f"127.0.0.1:{first.port}" in last
        assert broker_epoch(connect) == before


def test_broker_with_an_expired_session_registers_again(tmp_path: Path, connect: str) -> None:
    with on_zookeeper(tmp_path, connect, **SHORT_SESSION) as broker:
        create_topic(broker.bootstrap_servers, "topic")
        produce(broker.bootstrap_servers, "topic", range(10))
        before = broker_epoch(connect)
        os.kill(broker.pid, signal.SIGSTOP)
        await_that(lambda: broker_epoch(connect) == -1, "the session expires")
        os.kill(broker.pid, signal.SIGCONT)
        await_that(lambda: broker_epoch(connect) > before, "the broker is registered anew")
        produce(broker.bootstrap_servers, "topic", range(10, 20))
        create_topic(broker.bootstrap_servers, "another")
        produce(broker.bootstrap_servers, "another", range(5))
        assert consume(broker.bootstrap_servers, "topic", 20) == list(range(20))


def test_suspended_broker_whose_id_was_taken_stops_and_keeps_the_other_registered(tmp_path: Path, connect: str) -> None:
    """Like a machine that was believed lost, whose broker was started on another machine."""
    first = on_zookeeper(tmp_path / "first", connect, **SHORT_SESSION)
    first.start()
    before = broker_epoch(connect)
    os.kill(first.pid, signal.SIGSTOP)
    with on_zookeeper(tmp_path / "second", connect, **SHORT_SESSION) as second:
        taken = broker_epoch(connect)
        assert taken > before
        os.kill(first.pid, signal.SIGCONT)
        assert first.wait() == 1
        assert f"broker id 1 is taken by a live broker at PLAINTEXT://127.0.0.1:{second.port}" in first.output
        assert broker_epoch(connect) == taken


def test_broker_continues_without_zookeeper_and_after_its_return(tmp_path: Path) -> None:
    zookeeper = ZooKeeperProcess(tmp_path / "zookeeper").start()
    try:
        with on_zookeeper(tmp_path / "broker", zookeeper.connect) as broker:
            create_topic(broker.bootstrap_servers, "topic")
            produce(broker.bootstrap_servers, "topic", range(10))
            assert consume(broker.bootstrap_servers, "topic", 5)[:5] == list(range(5))
            zookeeper.stop()
            await_that(lambda: "is lost, connecting again" in broker.output, "the broker notices")
            produce(broker.bootstrap_servers, "topic", range(10, 20))
            assert consume(broker.bootstrap_servers, "topic", 20, "while it is away") == list(range(20))
            zookeeper.start()
            create_topic(broker.bootstrap_servers, "another")
            produce(broker.bootstrap_servers, "another", range(5))
            assert consume(broker.bootstrap_servers, "another", 5) == list(range(5))
    finally:
        zookeeper.kill()


def test_broker_stops_cleanly_while_zookeeper_is_down(tmp_path: Path) -> None:
    zookeeper = ZooKeeperProcess(tmp_path / "zookeeper").start()
    broker = on_zookeeper(tmp_path / "broker", zookeeper.connect)
    try:
        broker.start()
        zookeeper.stop()
        await_that(lambda: "is lost, connecting again" in broker.output, "the broker notices")
        assert broker.stop() == 0
        assert (broker.log_directory / ".kafka_cleanshutdown").exists()
    finally:
        broker.kill()
        zookeeper.kill()
