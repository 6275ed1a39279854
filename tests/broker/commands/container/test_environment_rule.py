"""Tests of settings from ``KAFKA_*`` variables, compared with the code of Apache Kafka's image."""

import json
import subprocess
from pathlib import Path

import pytest
from pybroker.broker.commands.container.environment_rule import (
    NOT_SETTINGS,
    server_properties,
    setting_name,
    variables_by_setting,
    with_derived_listeners,
)
from pybroker.config.table import BROKER_SETTINGS
from support.processes.java import java_command

NAMES = [
    ("KAFKA_BROKER_ID", "broker.id"),
    ("KAFKA_A_B", "a.b"),
    ("KAFKA_A__B", "a_b"),
    ("KAFKA_A___B", "a-b"),
    ("KAFKA_A____B", "a-.b"),
    ("KAFKA_A_____B", "a-_b"),
    ("KAFKA_A______B", "a--b"),
    ("KAFKA_VALID___PROPERTY__ALL_CASES", "valid-property_all.cases"),
    ("KAFKA_Listener_Name_internal_SASL", "listener.name.internal.sasl"),
    ("KAFKA_LISTENER_NAME_TC___0_MAX_CONNECTIONS", "listener.name.tc-0.max.connections"),
    ("KAFKA_KEPT.DOTS", "kept.dots"),
    ("KAFKA_A._B", "a_b"),
    ("KAFKA_", ""),
    ("KAFKA__", "."),
    ("KAFKA_OF_KAFKA_BROKER", "of.broker"),
    ("KAFKA_LOG4J_OPTION", "log4j.option"),
    ("KAFKA_JMX_PORT", "jmx.port"),
    ("KAFKA_LOG_DIRS", "log.dirs"),
]
NONE = ["PATH", "kafka_broker_id", "KAFKABROKER", "MY_KAFKA_BROKER_ID", "CLUSTER_ID", *sorted(NOT_SETTINGS)]


@pytest.mark.parametrize(("variable", "name"), NAMES)
def test_variable_names_map_to_setting_names_as_in_kafkas_image(variable: str, name: str) -> None:
    assert setting_name(variable) == name


@pytest.mark.parametrize("variable", [*NONE, "KAFKA_CREATE_TOPICS"])
def test_variables_of_kafkas_scripts_are_no_settings(variable: str) -> None:
    assert setting_name(variable) is None
    assert server_properties({variable: "value"}) == ""


def test_only_settings_with_capitals_or_a_kafka_prefix_have_no_variable() -> None:
    variables = {
        name: "KAFKA_" + name.replace("-", "___").replace("_", "__").replace(".", "_").upper()
        for name in BROKER_SETTINGS
    }
    others = [name for name, variable in variables.items() if setting_name(variable) != name]
    assert others == [name for name in BROKER_SETTINGS if name.startswith("kafka.") or not name.islower()]


def test_prefix_of_bitnamis_image_is_accepted_below_kafkas_own() -> None:
    assert setting_name("KAFKA_CFG_LISTENERS") == "listeners"
    environment = {"KAFKA_ADVERTISED_LISTENERS": "A://a:1", "KAFKA_CFG_ADVERTISED_LISTENERS": "A://b:1"}
    assert server_properties(environment).splitlines()[-1] == "advertised.listeners=A://a:1"
    assert variables_by_setting(environment) == {"advertised.listeners": "KAFKA_ADVERTISED_LISTENERS"}
    given = {"KAFKA_ADVERTISED_LISTENERS": "A://a:1", "KAFKA_CFG_LISTENERS": "A://:2"}
    assert with_derived_listeners(given) == given


def test_no_setting_of_kafka_begins_with_bitnamis_prefix() -> None:
    assert not [name for name in BROKER_SETTINGS if name.startswith("cfg.")]


def test_settings_of_variables_are_sorted_lines_after_the_mounted_file() -> None:
    environment = {"KAFKA_B": "2", "HOME": "/", "KAFKA_A": "", "KAFKA_OPTS": "-Xmx1g"}
    assert server_properties(environment) == "\na=\nb=2"


def test_each_line_of_a_value_has_the_place_of_its_variable() -> None:
    environment = {"KAFKA_A": "1\n b = x\nc", "KAFKA_D": "one \\\n two"}
    assert variables_by_setting(environment) == {"a": "KAFKA_A", "b": "KAFKA_A", "c": "KAFKA_A", "d": "KAFKA_D"}


def test_variables_of_kubernetes_for_a_service_named_kafka_are_no_settings() -> None:
    environment = {
        "KAFKA_PORT": "tcp://10.0.0.1:9092",
        "KAFKA_PORT_9092_TCP_ADDR": "10.0.0.1",
        "KAFKA_SERVICE_HOST": "10.0.0.1",
        "KAFKA_SERVICE_PORT_CLIENTS": "9092",
    }
    assert server_properties(environment) == ""
    assert variables_by_setting({"KAFKA_PORT": "9092"}) == {"port": "KAFKA_PORT"}


@pytest.mark.parametrize(
    ("advertised", "listeners"),
    [
        ("PLAINTEXT://broker:9092", "PLAINTEXT://0.0.0.0:9092"),
        ("A://one:1,B://two:2", "A://0.0.0.0:1,B://0.0.0.0:2"),
        ("A://:1", "A://0.0.0.0:1"),
        ("no listener", "no listener"),
    ],
)
def test_listeners_are_derived_from_the_advertised_listeners(advertised: str, listeners: str) -> None:
    given = {"KAFKA_ADVERTISED_LISTENERS": advertised, "KAFKA_LISTENERS": ""}
    assert with_derived_listeners(given) == {**given, "KAFKA_LISTENERS": listeners}


def test_given_listeners_are_not_changed() -> None:
    given = {"KAFKA_ADVERTISED_LISTENERS": "A://one:1", "KAFKA_LISTENERS": "A://:2"}
    assert with_derived_listeners(given) == given
    assert with_derived_listeners({"KAFKA_LISTENERS": "A://:2"}) == {"KAFKA_LISTENERS": "A://:2"}


def test_code_of_kafkas_image_gives_the_same_lines() -> None:
    environment = {variable: f"value {number}" for number, (variable, _) in enumerate(NAMES)}
    environment |= dict.fromkeys(NONE, "none") | {"KAFKA_EMPTY": "", "KAFKA_TEXT": "a=b\\tc ü"}
    program = Path(__file__).with_name("ImageSettings.java")
    done = subprocess.run(
        java_command(str(program)),
        input=json.dumps(environment),
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert sorted(done.stdout.splitlines()) == sorted(server_properties(environment).splitlines()[1:])
