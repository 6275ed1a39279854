"""SCRAM users that pybroker's command writes to ZooKeeper are those that Kafka's tool reads, and the reverse."""

import io
import sys
from collections.abc import Iterator

import pytest
from pybroker.broker.commands.command_line import main
from pybroker.broker.commands.users.opened_user_store import opened_user_store
from pybroker.broker.library.user_settings import store_users
from pybroker.broker.security.sasl.scram_administration import credentials_in
from pybroker.broker.security.sasl.scram_credential import ScramCredential
from pybroker.config.load import load_config
from pybroker.controller.tree.entity_names import encode_entity_name
from pybroker.protocol.scram import SCRAM_MECHANISMS
from support.clients.tool_server import run_main
from support.processes.kafka_process import ZooKeeperProcess

USER = "ann b+c"


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper")).start()
    yield process
    process.stop()


def kafka_configs(place: str, *arguments: str) -> str:
    done = run_main("kafka.admin.ConfigCommand", "--zookeeper", place, "--entity-type", "users", *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def stored(place: str) -> dict[str, ScramCredential]:
    async with opened_user_store(place, load_config("")) as store:
        settings = await store._tree.config("users", encode_entity_name(USER))
    return credentials_in(settings, lambda mechanism, error: pytest.fail(str(error)))


def set_user(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("secret\n"))
    assert main(["user", "set", USER, "--place", place, "--iterations", "5000"]) == 0


def test_kafkas_tool_lists_the_users_of_the_command(
    zookeeper: ZooKeeperProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{zookeeper.connect}/ours"
    set_user(place, monkeypatch)
    described = kafka_configs(place, "--describe")
    assert f"'{USER}'" in described
    for name in SCRAM_MECHANISMS:
        assert f"{name}=salt=" in described
    assert described.count("iterations=5000") == 2


async def test_credentials_of_kafkas_tool_are_those_of_the_password(zookeeper: ZooKeeperProcess) -> None:
    place = f"{zookeeper.connect}/theirs"
    config = ",".join(f"{name}=[iterations=6000,password=secret]" for name in SCRAM_MECHANISMS)
    async with opened_user_store(place, load_config("")) as store:
        await store.users()  # makes the nodes that Kafka's tool expects
    kafka_configs(place, "--alter", "--add-config", config, "--entity-name", USER)
    found = await stored(place)
    assert found.keys() == SCRAM_MECHANISMS.keys()
    for name, credential in found.items():
        mechanism = SCRAM_MECHANISMS[name]
        assert credential == ScramCredential.of_password(mechanism, "secret", credential.salt, 6000)


async def test_users_of_a_cluster_inside_a_program_are_stored_for_all_mechanisms(zookeeper: ZooKeeperProcess) -> None:
    place = f"{zookeeper.connect}/program"
    await store_users(place, {"zookeeper.session.timeout.ms": 9000, "num.partitions": 2}, {USER: "secret"})
    found = await stored(place)
    assert found.keys() == SCRAM_MECHANISMS.keys()
    for name, credential in found.items():
        expected = ScramCredential.of_password(SCRAM_MECHANISMS[name], "secret", credential.salt, credential.iterations)
        assert credential == expected
