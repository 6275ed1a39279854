"""Precedence of settings in a container: the mounted file, the environment, and the image's own settings."""

from pathlib import Path

import pytest
from pybroker.broker.commands.container.server_file import DEFAULT_PROPERTIES, final_properties, read_mounted
from pybroker.broker.commands.container.single_node import without_kraft
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from pybroker.config.properties import parse_properties

DATA = "/data"
TESTCONTAINERS = {
    "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
    "KAFKA_LISTENERS": "PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094",
    "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:32769,BROKER://d2f5:9093",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
    "KAFKA_NODE_ID": "1",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
}
"""The variables that testcontainers for Java sets for its KafkaContainer, with those its start script adds."""


def settings_of(mounted: str | None, environment: dict[str, str]) -> dict[str, str]:
    text = final_properties(mounted, environment, DATA)
    return {name: line.value for name, line in parse_properties(text).items()}


def test_environment_overrides_the_mounted_file() -> None:
    assert settings_of("a=file\nb=file", {"KAFKA_A": "variable", "HOME": "/"}) == {
        "a": "variable",
        "b": "file",
        "log.dirs": DATA,
    }


@pytest.mark.parametrize("mounted", [None, "", " \n \n"])
def test_images_default_settings_apply_only_where_no_other_source_sets_them(mounted: str | None) -> None:
    assert final_properties(mounted, {"KAFKA_OPTS": "-Xmx1g"}, DATA).startswith(DEFAULT_PROPERTIES)
    assert settings_of(mounted, {"KAFKA_A": "1"}) == {"a": "1", "log.dirs": DATA}


@pytest.mark.parametrize("name", ["log.dirs", "log.dir"])
def test_log_dirs_given_by_the_user_are_kept(name: str) -> None:
    assert settings_of(f"{name}=/elsewhere", {}) == {name: "/elsewhere"}
    assert settings_of(f"{name}=", {})["log.dirs"] == DATA


def test_values_of_variables_are_parsed_like_a_settings_file() -> None:
    environment = {"KAFKA_A": "back\\tslash", "KAFKA_B": "two\nc=lines", "KAFKA_D": "ü"}
    settings = settings_of(None, environment)
    # UTF-8, read as Kafka reads files of settings
    assert settings == {"a": "back\tslash", "b": "two", "c": "lines", "d": "Ã¼", "log.dirs": DATA}
    assert final_properties(None, environment, DATA).encode("latin-1").decode("utf-8").count("ü") == 1


def test_a_mounted_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    assert read_mounted(tmp_path / "none") is None
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        read_mounted(tmp_path)
    with pytest.raises(ConfigError, match="four hexadecimal digits"):
        final_properties(None, {"KAFKA_A": "\\u12"}, DATA)


def test_kraft_settings_of_testcontainers_start_a_single_broker() -> None:
    config = load_config(final_properties(None, TESTCONTAINERS, DATA))
    assert config.uses_embedded_store
    assert config.int("broker.id") == 1
    assert [str(listener) for listener in config.listeners()] == ["PLAINTEXT://:9092", "BROKER://:9093"]
    assert config.inter_broker_listener_name == "BROKER"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("KAFKA_CONTROLLER_QUORUM_VOTERS", "1@a:9094,2@b:9094"),
        ("KAFKA_CONTROLLER_QUORUM_BOOTSTRAP_SERVERS", "a:9094,b:9094"),
        ("KAFKA_PROCESS_ROLES", "broker"),
        ("KAFKA_PROCESS_ROLES", "controller"),
        ("KAFKA_ZOOKEEPER_CONNECT", "localhost:2181"),
    ],
)
def test_kraft_settings_of_more_than_one_node_refuse_the_start(variable: str, value: str) -> None:
    text = final_properties(None, {**TESTCONTAINERS, variable: value}, DATA)
    with pytest.raises(ConfigError, match="pybroker has no KRaft mode"):
        load_config(text)


def test_given_broker_id_of_a_single_kraft_node_is_kept() -> None:
    roles = {"process.roles": "controller, broker", "node.id": "3"}
    assert without_kraft(roles)["broker.id"] == "3"
    assert without_kraft({**roles, "broker.id": "4"})["broker.id"] == "4"
    assert without_kraft({"node.id": "3"}) == {}
