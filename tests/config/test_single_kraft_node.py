"""Tests of settings of a single KRaft node, which runs as one broker with the embedded metadata store."""

import pytest
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config, with_overrides
from pybroker.config.notices import notices
from pybroker.config.settings import kraft
from pybroker.config.settings.parts import KRAFT, NEW_GROUPS
from pybroker.config.table import BROKER_SETTINGS

NODE = """\
process.roles=broker,controller
node.id=1001
controller.quorum.voters=1001@localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
"""


def test_single_kraft_node_runs_as_one_broker_with_the_nodes_id() -> None:
    config = load_config(NODE)
    assert config.uses_embedded_store
    assert config.int("broker.id") == 1001
    assert [str(listener) for listener in config.listeners()] == ["PLAINTEXT://:9092"]
    assert [str(listener) for listener in config.advertised_listeners() or ()] == ["PLAINTEXT://localhost:9092"]


def test_dropped_settings_of_a_single_kraft_node_are_named_in_one_warning() -> None:
    assert notices(load_config(NODE)) == [
        "process.roles=broker,controller (settings line 1) describes a single KRaft node: it runs as one broker with "
        "the embedded metadata store, broker.id=1001 (settings line 2); these settings of KRaft have no effect: "
        "process.roles (settings line 1), node.id (settings line 2), controller.quorum.voters (settings line 3), "
        "controller.listener.names (settings line 6)"
    ]


# Two voters' lists cannot be given at once; versions of APIs are developed in both modes.
HAVE_OTHER_TESTS = ("controller.quorum.bootstrap.servers", "unstable.api.versions.enable")
ONLY_KRAFT = [
    each.name
    for each in BROKER_SETTINGS.values()
    if each in kraft.SETTINGS or each.support in (KRAFT, NEW_GROUPS)
    if each.name not in NODE and each.name not in HAVE_OTHER_TESTS
]


@pytest.mark.parametrize("name", ONLY_KRAFT)
def test_each_setting_that_only_kraft_has_is_dropped_for_a_single_node(name: str) -> None:
    config = load_config(f"{NODE}{name}=not even a value\n")
    (line,) = notices(config)
    assert line.endswith(f"{name} (settings line 7)")


def test_single_kraft_node_keeps_its_settings_of_group_protocols() -> None:
    given = "group.coordinator.rebalance.protocols=classic\ngroup.consumer.session.timeout.ms=50000\n"
    config = load_config(f"{NODE}{given}")
    assert config.list("group.coordinator.rebalance.protocols") == ("classic",)
    assert config.int("group.consumer.session.timeout.ms") == 50_000
    assert not any("group." in line for line in notices(config))


def test_kraft_quorum_with_one_bootstrap_server_counts_as_a_single_node() -> None:
    text = NODE.replace("voters=1001@localhost:9093", "bootstrap.servers=localhost:9093")
    assert load_config(text).int("broker.id") == 1001


def test_settings_of_the_controllers_listener_are_dropped() -> None:
    config = load_config(f"{NODE}listener.name.controller.ssl.keystore.location=/k\nmetadata.log.unknown=1\n")
    expected = (
        "listener.name.controller.ssl.keystore.location (settings line 7), metadata.log.unknown (settings line 8)"
    )
    assert notices(config)[0].endswith(expected)
    with pytest.raises(ConfigError, match="does not start without the protection"):
        load_config(f"{NODE}listener.name.plaintxt.ssl.keystore.location=/k\n")


def test_bound_of_generated_ids_holds_only_outside_kraft() -> None:
    with pytest.raises(ConfigError, match=r"must be from -1 to reserved\.broker\.max\.id=1000"):
        load_config("broker.id=1001")
    without_id = NODE.replace("node.id=1001\n", "")
    assert load_config(without_id).int("broker.id") == -1
    assert load_config(f"{without_id}broker.id=2000\n").int("broker.id") == 2000
    assert load_config(f"{NODE}broker.id=4\n").int("broker.id") == 4


@pytest.mark.parametrize("given", ["-5", "abc", "99999999999"])
def test_bad_node_id_is_refused_by_its_own_name_and_its_own_bound(given: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(NODE.replace("node.id=1001", f"node.id={given}"))
    assert str(caught.value).startswith(f"node.id={given} (settings line 2): must be ")
    assert "reserved.broker.max.id" not in str(caught.value)


def test_every_setting_of_several_kraft_nodes_is_refused_with_its_place() -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(NODE, {"process.roles": "broker"}, place="--override")
    assert str(caught.value) == (
        "process.roles=broker (--override), and node.id (settings line 2), controller.quorum.voters (settings line 3), "
        "controller.listener.names (settings line 6): pybroker has no KRaft mode; remove these settings to run a "
        "single broker with its embedded metadata store"
    )


@pytest.mark.parametrize("number", ["", "broker.id=3\n"])
def test_member_of_a_zookeeper_cluster_is_not_advised_to_run_alone(number: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(f"{NODE}zookeeper.connect=localhost:2181\n{number}")
    expected = "remove these settings: " if number else "remove these settings, and set broker.id: "
    assert str(caught.value).endswith(f"; {expected}the cluster is that of zookeeper.connect (settings line 7)")


@pytest.mark.parametrize(
    "changed",
    [
        "controller.quorum.voters=1001@a:9093,1002@b:9093",
        "controller.quorum.bootstrap.servers=a:9093,b:9093",
        "process.roles=broker",
        "process.roles=controller",
        "zookeeper.connect=localhost:2181",
    ],
)
def test_settings_of_several_kraft_nodes_refuse_the_start(changed: str) -> None:
    with pytest.raises(ConfigError, match="pybroker has no KRaft mode"):
        load_config(f"{NODE}{changed}\n")


def test_overrides_apply_to_a_single_kraft_node() -> None:
    assert with_overrides(load_config(NODE), {"node.id": "7"}).int("broker.id") == 7
    assert load_config(NODE, {"num.partitions": "3"}).int("num.partitions") == 3


def test_times_of_the_quorum_have_no_effect_beside_zookeeper() -> None:
    """Kafka reads them in both modes and uses them in KRaft only."""
    config = load_config(
        "zookeeper.connect=zoo\nadvertised.listeners=PLAINTEXT://h:1\ncontroller.quorum.fetch.timeout.ms=5"
    )
    assert notices(config) == [
        "controller.quorum.fetch.timeout.ms (settings line 3) has no effect: it belongs to KRaft, a mode of Kafka that "
        "pybroker does not have"
    ]
