"""A start on a ZooKeeper that refuses it ends with exit code 1 and one line that names the cause and the way out."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl
from pybroker.controller.tree.znodes import Features
from support.processes.broker_process import BrokerProcess, DidNotStartError
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.zookeeper_tree import client_of

ROOTS = count()


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper")).start()
    yield process
    process.stop()


def id_of_a_live_broker(client: KazooClient) -> None:
    client.create("/brokers/ids/1", b"{}", ephemeral=True, makepath=True)


def tree_of_another_user(client: KazooClient) -> None:
    client.create("/brokers", acl=[make_digest_acl("kafka", "secret", all=True)])


def cluster_id_is_damaged(client: KazooClient) -> None:
    client.create("/cluster/id", b"no JSON", makepath=True)


def level_of_share_groups(client: KazooClient) -> None:
    client.create("/feature", Features({"share.version": 1}).encode())


FAILURES: list[tuple[Callable[[KazooClient], None], tuple[str, ...]]] = [
    (
        id_of_a_live_broker,
        ("broker id 1 is taken by a live broker at ", "stop that broker, or change broker.id (server.properties line "),
    ),
    (
        tree_of_another_user,
        (
            "/brokers",
            "check pybroker.zookeeper.digest, or the certificate of zookeeper.ssl.keystore.location",
        ),
    ),
    (
        cluster_id_is_damaged,
        ("/cluster/id: ", "of the metadata in zookeeper.connect (server.properties line ", "correct it, or restore"),
    ),
    (
        level_of_share_groups,
        (
            "share.version is 1 in this cluster, but this broker supports levels up to 0",
            "add share to group.coordinator.rebalance.protocols, or lower the level: pybroker cluster features",
        ),
    ),
]


@pytest.mark.parametrize(("damage", "words"), FAILURES, ids=lambda each: getattr(each, "__name__", ""))
def test_failing_start_on_zookeeper_names_the_cause_and_the_way_out(
    tmp_path: Path, zookeeper: ZooKeeperProcess, damage: Callable[[KazooClient], None], words: tuple[str, ...]
) -> None:
    root = f"/clusters/{next(ROOTS)}"
    with client_of(zookeeper.connect) as client:
        client.ensure_path(root)
    with client_of(f"{zookeeper.connect}{root}") as client:
        damage(client)
        settings = {"zookeeper.connect": f"{zookeeper.connect}{root}", "broker.id": "1"}
        broker = BrokerProcess(tmp_path, {**settings, "zookeeper.session.timeout.ms": "1000"})
        with pytest.raises(DidNotStartError) as caught:
            broker.start()
    assert caught.value.exit_code == 1
    line = caught.value.output.strip().splitlines()[-1]
    for each in ("pybroker: ", *words):
        assert each in line
