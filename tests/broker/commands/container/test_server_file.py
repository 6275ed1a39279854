"""Precedence of settings in a container: the mounted file, the environment, and the image's own settings."""

from pathlib import Path

import pytest
from pybroker.broker.commands.container.server_file import (
    DEFAULT_PROPERTIES,
    final_properties,
    places_in_environment,
    read_mounted,
)
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config, reload_config
from pybroker.config.notices import notices
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
    with pytest.raises(ConfigError, match="cannot be read: it is a directory, which Docker makes when the file to mou"):
        read_mounted(tmp_path)


def test_a_broken_escape_in_a_variable_is_refused_by_the_variables_name() -> None:
    with pytest.raises(ConfigError, match=r"^KAFKA_A line 1: \\u must be followed by four hexadecimal digits"):
        final_properties("b=1", {"KAFKA_A": "\\u12"}, DATA)


def places_and_notices(environment: dict[str, str]) -> list[str]:
    text = final_properties(None, environment, DATA)
    return notices(load_config(text, variables=places_in_environment(environment)))


def test_warnings_about_variables_name_the_variable() -> None:
    assert places_and_notices(
        {
            "KAFKA_CREATE_TOPICS": "a:1:1",
            "KAFKA_CLUSTER_ID": "x",
            "KAFKA_CFG_NUM_NETWORK_THREADS": "3",
            "KAFKA_ZOOKEEPER_CONECT": "zoo:2181",
        }
    ) == [
        "num.network.threads (KAFKA_CFG_NUM_NETWORK_THREADS) has no effect: one event loop serves all connections",
        "cluster.id (KAFKA_CLUSTER_ID) is ignored: a new cluster gets its id by itself (Kafka's image reads "
        "CLUSTER_ID, which has no effect here)",
        "zookeeper.conect (KAFKA_ZOOKEEPER_CONECT) is ignored: there is no such setting; did you mean "
        "zookeeper.connect?",
    ]


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"KAFKA_NUM_PARTITIONS": "many"}, "num.partitions=many (KAFKA_NUM_PARTITIONS): must"),
        ({"KAFKA_PROCESS_ROLES": "broker"}, "process.roles=broker (KAFKA_PROCESS_ROLES): pybroker has no KRaft mode"),
        (
            {"KAFKA_CFG_SASL_ENABLED_MECHANISMS": "PLAIN"},
            "sasl.enabled.mechanisms=PLAIN (KAFKA_CFG_SASL_ENABLED_MECHANISMS)",
        ),
        ({"KAFKA_LISTENERS": "PLAINTEXT:9092"}, "listeners=PLAINTEXT:9092 (KAFKA_LISTENERS): "),
        (
            {"KAFKA_LISTENERS": "SASL_SSL://:9093"},
            "listener SASL_SSL: mechanism GSSAPI (Kerberos) is not supported",
        ),
        (
            {"KAFKA_ADVERTISED_LISTENERS": "OUT://h:1"},
            "listeners=OUT://0.0.0.0:1 (from KAFKA_ADVERTISED_LISTENERS): listener.security.protocol.map has no entry",
        ),
        (
            {"KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://0.0.0.0:1"},
            "advertised.listeners=PLAINTEXT://0.0.0.0:1 (KAFKA_ADVERTISED_LISTENERS): ",
        ),
        (
            {"KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "A:B"},
            "listener.security.protocol.map=A:B (KAFKA_LISTENER_SECURITY_PROTOCOL_MAP): ",
        ),
        (
            {"KAFKA_INTER_BROKER_LISTENER_NAME": "A"},
            "inter.broker.listener.name=A (KAFKA_INTER_BROKER_LISTENER_NAME): ",
        ),
        (
            {"KAFKA_MAX_CONNECTIONS_PER_IP_OVERRIDES": "a"},
            "max.connections.per.ip.overrides=a (KAFKA_MAX_CONNECTIONS_PER_IP_OVERRIDES): ",
        ),
        ({"KAFKA_BROKER_ID": "1001"}, "broker.id=1001 (KAFKA_BROKER_ID): must be from -1 to reserved.broker.max.id"),
    ],
)
def test_refusals_of_variables_name_the_variable(environment: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        places_and_notices(environment)
    assert str(raised.value).startswith(words)


def test_variables_are_named_after_the_file_was_read_again(tmp_path: Path) -> None:
    environment = {"KAFKA_NUM_PARTITIONS": "3"}
    file = tmp_path / "server.properties"
    file.write_text(final_properties("broker.id=1", environment, DATA))
    config = reload_config(load_config(file, variables=places_in_environment(environment)))
    assert config.given["num.partitions"].place == "KAFKA_NUM_PARTITIONS"
    assert config.given["broker.id"].place == "server.properties line 1"


def test_kraft_settings_of_testcontainers_start_a_single_broker() -> None:
    config = load_config(final_properties(None, TESTCONTAINERS, DATA))
    assert config.uses_embedded_store
    assert config.int("broker.id") == 1
    assert [str(listener) for listener in config.listeners()] == ["PLAINTEXT://:9092", "BROKER://:9093"]
    assert config.inter_broker_listener_name == "BROKER"


def test_single_kraft_node_of_a_compose_file_keeps_its_id_above_the_bound_of_generated_ids() -> None:
    environment = {
        **TESTCONTAINERS,
        "KAFKA_NODE_ID": "1001",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1001@localhost:9094",
        "KAFKA_CONTROLLER_QUORUM_ELECTION_TIMEOUT_MS": "3000",
        "KAFKA_CONTROLLER_QUORUM_FETCH_TIMEOUT_MS": "6000",
        "KAFKA_CONTROLLER_QUORUM_REQUEST_TIMEOUT_MS": "3000",
        "KAFKA_METADATA_LOG_SEGMENT_MS": "15000",
    }
    text = final_properties(None, environment, DATA)
    config = load_config(text, variables=places_in_environment(environment))
    assert config.int("broker.id") == 1001
    (line,) = [each for each in notices(config) if "KRaft" in each]
    assert line.startswith("process.roles=broker,controller (KAFKA_PROCESS_ROLES) describes a single KRaft node")
    for name in ("controller.quorum.election.timeout.ms", "controller.quorum.voters", "metadata.log.segment.ms"):
        assert name in line


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


def test_defaults_of_the_image_are_named_by_the_variables_that_change_them() -> None:
    config = load_config(final_properties(None, {}, DATA), variables=places_in_environment({}))
    assert config.named("listeners") == "listeners (KAFKA_LISTENERS, not set)"
    assert config.named("log.dirs") == "log.dirs (KAFKA_LOG_DIRS, not set)"
    environment, mounted = {"KAFKA_LOG_DIRS": "/x"}, "listeners=PLAINTEXT://:1"
    text = final_properties(mounted, environment, DATA)
    config = load_config(text, variables=places_in_environment(environment, mounted))
    assert config.named("listeners") == "listeners (settings line 1)"
    assert config.named("log.dirs") == "log.dirs (KAFKA_LOG_DIRS)"


KRAFT_VARIABLES = {
    "KAFKA_NODE_ID": "1001",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
}


def test_warning_about_settings_of_kraft_names_each_variable() -> None:
    (line,) = places_and_notices(KRAFT_VARIABLES)
    assert ", broker.id=1001 (KAFKA_NODE_ID); these settings of KRaft have no effect: " in line
    assert line.endswith(
        "controller.listener.names (KAFKA_CONTROLLER_LISTENER_NAMES), node.id (KAFKA_NODE_ID), "
        "process.roles (KAFKA_PROCESS_ROLES)"
    )


@pytest.mark.parametrize("others", [{"KAFKA_ZOOKEEPER_CONNECT": "zk:2181"}, {"KAFKA_PROCESS_ROLES": "broker"}])
def test_refusal_of_settings_of_kraft_names_each_variable(others: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as caught:
        places_and_notices({**KRAFT_VARIABLES, **others})
    said = str(caught.value)
    for variable in ("KAFKA_NODE_ID", "KAFKA_PROCESS_ROLES", "KAFKA_CONTROLLER_LISTENER_NAMES"):
        assert f"({variable})" in said
    assert " line" not in said
    assert ("to run a single broker" in said) == ("KAFKA_ZOOKEEPER_CONNECT" not in others)


def test_contradiction_names_both_variables() -> None:
    variables = {"KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS": "9", "KAFKA_GROUP_MAX_SESSION_TIMEOUT_MS": "8"}
    with pytest.raises(ConfigError) as caught:
        places_and_notices(variables)
    for variable in variables:
        assert f"({variable})" in str(caught.value)


def test_warning_about_a_further_line_of_a_variable_names_the_variable() -> None:
    environment = {"KAFKA_LISTENERS": "PLAINTEXT://:9092,\n  OTHER://:9093\n", "KAFKA_BROKER_ID": "1"}
    config = load_config(final_properties(None, environment, DATA), variables=places_in_environment(environment))
    assert notices(config) == ["OTHER (KAFKA_LISTENERS) is ignored: there is no such setting"]


def test_kafka_opts_name_the_jaas_file_and_are_named_in_errors() -> None:
    environment = {"KAFKA_OPTS": "-Xmx1g -Djava.security.auth.login.config=/no/such/jaas.conf"}
    assert "\npybroker.sasl.jaas.file=/no/such/jaas.conf\n" in final_properties(None, environment, "/data")
    given = environment | {"KAFKA_PYBROKER_SASL_JAAS_FILE": "/mine"}
    assert "jaas.conf" not in final_properties(None, given, "/data")
    listening = {
        "KAFKA_LISTENERS": "SASL_SSL://:9093",
        "KAFKA_SECURITY_INTER_BROKER_PROTOCOL": "SASL_SSL",
        "KAFKA_SASL_ENABLED_MECHANISMS": "PLAIN",
    }
    with pytest.raises(ConfigError, match=r"KAFKA_OPTS\): /no/such/jaas.conf: No such file"):
        places_and_notices(environment | listening)
    with pytest.raises(ConfigError, match=r"KAFKA_OPTS: -Djavax\.net\.ssl\.trustStore is not supported"):
        final_properties(None, {"KAFKA_OPTS": "-Djavax.net.ssl.trustStore=/t"}, "/data")
