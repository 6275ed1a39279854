"""Checks compose.yaml without a container engine, and starts a cluster with its settings and in its order."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pybroker.broker.commands.healthcheck import reachable_listener
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.wire_client import WireClient
from support.processes.compose_cluster import BROKERS, ComposeCluster, config_of
from support.processes.compose_config import resolved_by_compose
from support.processes.compose_file import ComposeFileError, parse, read
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.ports import free_port
from support.time.patience import await_answer

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "compose.yaml"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    found = read(FILE)["services"]
    assert isinstance(found, dict)
    return found


def test_compose_parser_refuses_what_it_does_not_support() -> None:
    assert parse('e: 2\na: &x\n  b: "1"\nc:\n  <<: *x\n  d: ["e"]\nf:\n  - g\n') == {
        "e": 2,
        "a": {"b": "1"},
        "c": {"b": "1", "d": ["e"]},
        "f": ["g"],
    }
    for wrong in ("a: 1.5", "a: true", "a: b: c", "a:\n  - b\n  c: d", "a: b\na: c", "a: {b: c}", "a: 'b'", "a: |"):
        with pytest.raises(ComposeFileError):
            parse(wrong)


def test_compose_file_is_accepted_by_docker_compose(services: dict[str, Any]) -> None:
    resolved = resolved_by_compose(FILE)
    assert list(resolved["services"]) == sorted(services)
    for name in BROKERS:
        assert resolved["services"][name]["environment"] == services[name]["environment"]


def test_compose_services_are_a_zookeeper_and_three_brokers(services: dict[str, Any]) -> None:
    assert list(services) == ["zookeeper", *BROKERS]
    assert services["zookeeper"]["image"].startswith("zookeeper:")


def test_only_the_first_broker_service_builds_the_image_and_no_service_pulls_it(services: dict[str, Any]) -> None:
    """If several services built one image at the same time, the builds would conflict."""
    assert [name for name in services if "build" in services[name]] == ["broker-1"]
    assert services["broker-1"]["build"] == "."
    assert {services[name]["image"] for name in BROKERS} == {"pybroker"}
    assert [services[name].get("pull_policy") for name in BROKERS] == [None, "never", "never"]


def test_each_service_waits_until_the_previous_one_is_healthy(services: dict[str, Any]) -> None:
    for before, name in zip(["zookeeper", *BROKERS], BROKERS, strict=False):
        assert services[name]["depends_on"] == {before: {"condition": "service_healthy"}}
    assert services["zookeeper"]["healthcheck"]["test"][0] == "CMD-SHELL"
    assert re.search(r'^HEALTHCHECK [^]]+"--probe", "readyz"', (ROOT / "Dockerfile").read_text(), re.MULTILINE)


def test_settings_of_each_broker_are_valid_and_distinct(services: dict[str, Any]) -> None:
    configs = {name: config_of(services[name]) for name in BROKERS}
    assert [config.int("broker.id") for config in configs.values()] == [1, 2, 3]
    for name, config in configs.items():
        assert not config.unknown
        assert config.string("zookeeper.connect") == "zookeeper:2181"
        assert reachable_listener(config).port in {listener.port for listener in config.listeners()}
        advertised = {listener.name: listener for listener in config.advertised_listeners() or ()}
        assert services[name]["hostname"] == name == advertised[config.inter_broker_listener_name].host


def test_each_broker_is_advertised_to_clients_on_the_host(services: dict[str, Any]) -> None:
    published = []
    for name in BROKERS:
        config = config_of(services[name])
        (mapping,) = services[name]["ports"]
        address, outside, inside = mapping.rsplit(":", 2)
        listeners = {listener.name: listener for listener in config.listeners()}
        advertised = {listener.name: listener for listener in config.advertised_listeners() or ()}
        (external,) = set(listeners) - {config.inter_broker_listener_name}
        assert address == "127.0.0.1"
        assert (listeners[external].host, listeners[external].port) == (None, int(inside))
        assert (advertised[external].host, advertised[external].port) == ("localhost", int(outside))
        published.append(outside)
    assert len(set(published)) == 3


def test_data_directories_are_volumes_that_outlive_the_containers(services: dict[str, Any]) -> None:
    volumes = read(FILE)["volumes"]
    mounted = [volume for service in services.values() for volume in service["volumes"]]
    names = [volume.partition(":")[0] for volume in mounted]
    assert sorted(names) == sorted(volumes)
    for name in BROKERS:
        assert services[name]["volumes"] == [f"{name}:{config_of(services[name]).log_dirs[0]}"]


# -- the cluster of the file, on addresses of this machine


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    """A ZooKeeper that allows only the four letter words that its image allows by default."""
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper"), {"4lw.commands.whitelist": "srvr"}).start()
    yield process
    process.kill()


def test_zookeeper_answers_its_health_check(
    services: dict[str, Any], zookeeper: ZooKeeperProcess, tmp_path: Path
) -> None:
    """Uses the machine's `nc` if there is one, else a program that sends and reads like it."""
    stand_in = tmp_path / "nc"
    stand_in.write_text(
        f"#!{sys.executable}\nimport socket, sys\n"
        "with socket.create_connection((sys.argv[-2], int(sys.argv[-1]))) as connection:\n"
        "    connection.sendall(sys.stdin.buffer.read())\n"
        "    while piece := connection.recv(4096):\n"
        "        sys.stdout.buffer.write(piece)\n"
    )
    stand_in.chmod(0o755)
    _, check = services["zookeeper"]["healthcheck"]["test"]
    here = check.replace("localhost 2181", f"127.0.0.1 {zookeeper.port}")
    environment = {**os.environ, "PATH": f"{os.environ['PATH']}:{tmp_path}"}
    await_answer(  # on a busy machine it may time out, as in a container
        lambda: subprocess.run(["sh", "-c", here], env=environment, check=False).returncode,
        lambda code: code == 0,
        "the check succeeds",
    )
    nobody = check.replace("localhost 2181", f"127.0.0.1 {free_port()}")
    done = subprocess.run(["sh", "-c", nobody], env=environment, capture_output=True, check=False)
    assert done.returncode != 0


def test_compose_cluster_starts_in_order_and_becomes_healthy(
    services: dict[str, Any], zookeeper: ZooKeeperProcess, tmp_path: Path
) -> None:
    with ComposeCluster(services, zookeeper.connect, tmp_path) as cluster:
        for name in BROKERS:
            cluster.start(name)
        with WireClient(str(cluster.external[0])) as client:
            await_answer(
                lambda: sorted(each.node_id for each in client.ask(MetadataRequest(topics=[]), 12).brokers),
                lambda known: known == [1, 2, 3],
                "all brokers are known",
            )
        failed: list[object] = []
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
        producer.produce("made-by-asking", b"value", on_delivery=lambda error, _: failed.append(error))
        producer.flush()
        assert failed == [None]
