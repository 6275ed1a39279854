"""Dynamic settings: their layers, refused changes, and reloading the settings file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.config.config import Config
from pybroker.config.config_entries import ConfigSource, ConfigType, broker_entries, cluster_entries, topic_entries
from pybroker.config.config_error import ConfigError
from pybroker.config.dynamic_changes import changed_settings, check_change, check_dynamic, is_reloadable, usable
from pybroker.config.dynamic_layers import DynamicLayers
from pybroker.config.given import Source
from pybroker.config.load import (
    load_config,
    reload_config,
    with_dynamic,
    with_overrides,
    with_static,
)
from pybroker.config.notices import notices_of
from pybroker.config.setting import Scope
from pybroker.config.table import BROKER_SETTINGS, DYNAMIC_ONLY_SETTINGS
from pybroker.config.topic_config import TopicConfig, usable_overrides

FILE = load_config("log.retention.ms=1\nlog.retention.hours=9\nnum.partitions=3\nlog.segment.bytes=1000")


def layered(cluster_wide: dict[str, str], per_broker: dict[str, str] | None = None, file: Config = FILE) -> Config:
    return with_dynamic(file, DynamicLayers(cluster_wide, per_broker or {}))


# -- layers


def test_setting_of_one_broker_precedes_that_of_all_brokers_and_the_file() -> None:
    config = layered({"log.segment.bytes": "2000", "message.max.bytes": "7"}, {"log.segment.bytes": "3000"})
    assert config.int("log.segment.bytes") == 3000
    assert config.source("log.segment.bytes") is Source.PER_BROKER
    assert (config.int("message.max.bytes"), config.source("message.max.bytes")) == (7, Source.CLUSTER_WIDE)
    assert (config.int("num.partitions"), config.source("num.partitions")) == (3, Source.FILE)
    assert FILE.int("log.segment.bytes") == 1000


def test_new_dynamic_layers_replace_earlier_ones() -> None:
    first = layered({"log.segment.bytes": "2000"}, {"message.max.bytes": "7"})
    second = with_dynamic(first, DynamicLayers({}, {"log.segment.bytes": "4000"}))
    assert (second.int("log.segment.bytes"), second.source("message.max.bytes")) == (4000, Source.DEFAULT)
    assert with_overrides(first, {"num.partitions": "4"}).int("log.segment.bytes") == 2000


def test_dynamic_value_precedes_static_values_in_other_units() -> None:
    minutes = load_config("log.retention.minutes=5")
    config = layered({"log.retention.ms": "77"}, file=minutes)
    assert (config.retention_ms, config.optional_int("log.retention.minutes")) == (77, None)
    assert config.static["log.retention.minutes"].text == "5"
    # Kafka refuses dynamic changes of the larger units, but merges stored ones alike.
    hours = with_dynamic(FILE, DynamicLayers({"log.retention.hours": "2"}))
    assert hours.retention_ms == 2 * 3_600_000


def test_setting_of_a_single_listener_may_be_dynamic() -> None:
    config = layered({"max.connections": "50", "listener.name.plaintext.max.connections": "20"})
    assert config.for_listener("PLAINTEXT").int("max.connections") == 20
    assert config.for_listener("OTHER").int("max.connections") == 50


@pytest.mark.parametrize(
    "bad",
    [
        {"log.retention.ms": "long"},
        {"log.retention.ms": "0"},
        {"listener.name.plaintext.ssl.provider": "Conscrypt"},
        {"max.connections.per.ip": "0"},
    ],
    ids=str,
)
def test_layers_are_checked_like_the_file(bad: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=f"{next(iter(bad))}.*set cluster-wide while running"):
        layered(bad)


def test_each_layer_is_described_uppermost_first() -> None:
    config = layered({"log.retention.ms": "5"}, {"log.retention.ms": "6"})
    entries = {entry.name: entry for entry in broker_entries(config)}
    retention = entries["log.retention.ms"]
    assert (retention.value, retention.source) == ("6", ConfigSource.DYNAMIC_BROKER_CONFIG)
    expected = [
        ("log.retention.ms", "6", ConfigSource.DYNAMIC_BROKER_CONFIG),
        ("log.retention.ms", "5", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        ("log.retention.ms", "1", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.retention.hours", "9", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    ]
    assert [(one.name, one.value, one.source) for one in retention.synonyms] == expected
    of_topic = {entry.name: entry for entry in topic_entries(config, TopicConfig.defaults(config, {}))}
    assert of_topic["retention.ms"].synonyms == retention.synonyms
    (for_all,) = cluster_entries(config)
    assert (for_all.value, [one.value for one in for_all.synonyms]) == ("5", ["5"])


def test_no_value_is_in_a_repr() -> None:
    layers = DynamicLayers({}, {"listener.name.x.ssl.key.password": "canary"})
    config = with_dynamic(load_config(), layers)
    assert "canary" not in f"{layers!r} {config!r} {config.given!r}"


def test_dynamic_secrets_are_not_described() -> None:
    config = layered({"plugin.secret": "hunter2", "leader.replication.throttled.rate": "1000"})
    entries = {entry.name: entry for entry in [*broker_entries(config), *cluster_entries(config)]}
    assert "hunter2" not in repr(entries)
    rate = entries["leader.replication.throttled.rate"]
    assert (rate.value, rate.is_sensitive, rate.type) == ("1000", False, ConfigType.LONG)


def test_ineffective_dynamic_settings_have_notices() -> None:
    config = layered({"log.local.retention.bytes": "1", "num.network.threads": "4", "log.segment.bytes": "9000"})
    assert "has no effect yet" in notices_of(config, "log.local.retention.bytes")[0]
    assert "has no effect: " in notices_of(config, "num.network.threads")[0]
    assert notices_of(config, "log.segment.bytes") == []
    in_file = load_config("leader.replication.throttled.rate=1")
    assert "set while the broker runs" in notices_of(in_file, "leader.replication.throttled.rate")[0]


# -- allowed settings


@pytest.mark.parametrize("name", [name for name, one in BROKER_SETTINGS.items() if one.scope is Scope.READ_ONLY])
def test_read_only_settings_are_refused(name: str) -> None:
    for per_broker in (True, False):
        with pytest.raises(ConfigError, match="cannot be changed while the broker runs"):
            check_dynamic({name: BROKER_SETTINGS[name].default or "x"}, per_broker=per_broker)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.retention.ms", "-1"),
        ("max.connections", "5"),
        ("listener.name.plaintext.max.connections", "5"),
        ("leader.replication.throttled.rate", "0"),
        ("plugin.of.somebody", "anything"),
    ],
)
def test_cluster_wide_dynamic_settings_may_be_set_per_broker_too(name: str, value: str) -> None:
    check_dynamic({name: value}, per_broker=True)
    check_dynamic({name: value}, per_broker=False)


@pytest.mark.parametrize(
    "name", ["advertised.listeners", "listener.name.x.ssl.keystore.location", "sasl.enabled.mechanisms"]
)
def test_settings_for_single_brokers_are_refused_for_all_brokers(name: str) -> None:
    check_dynamic({name: "x"}, per_broker=True)
    with pytest.raises(ConfigError, match=f"{name}: can be changed for single brokers only"):
        check_dynamic({name: "x"}, per_broker=False)


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("ssl.keystore.password", "hunter2", "single listeners only"),
        ("listeners", "PLAINTEXT://:1", "cannot be changed while pybroker runs"),
        ("log.retention.ms", "long", "whole number"),
        ("listener.name.plaintext.max.connections", "many", "whole number"),
        ("leader.replication.throttled.rate", "-1", "at least 0"),
        ("principal.builder.class", " ", "name of a class"),
        ("background.threads", "0", "at least 1"),
        ("log.cleaner.threads", "0", "at least 1"),
        ("num.io.threads", "0", "at least 1"),
        ("num.network.threads", "0", "at least 1"),
        ("num.recovery.threads.per.data.dir", "0", "at least 1"),
        ("num.replica.fetchers", "0", "at least 1"),
        ("num.replica.fetchers", "-3", "at least 1"),
        ("num.io.threads", "257", "at most 256"),
        ("log.cleaner.threads", "17", "at most 16"),
        ("max.connections.per.ip.overrides", ",".join(f"h{number}:1" for number in range(65)), "64 hosts at most"),
    ],
)
def test_bad_settings_are_refused_and_stored_ones_left_out(name: str, value: str, why: str) -> None:
    with pytest.raises(ConfigError, match=why) as caught:
        check_dynamic({name: value, "log.segment.bytes": "1000"}, per_broker=True)
    assert name in str(caught.value)
    assert "hunter2" not in str(caught.value)
    good, (problem,) = usable({name: value, "log.segment.bytes": "1000"}, per_broker=True)
    assert (good, problem) == ({"log.segment.bytes": "1000"}, str(caught.value))


@pytest.mark.parametrize(
    ("before", "after", "fits"), [(8, 16, True), (8, 17, False), (8, 4, True), (8, 3, False), (1, 1, True)]
)
def test_numbers_of_threads_are_at_most_doubled_or_halved(before: int, after: int, fits: bool) -> None:
    old = load_config(f"num.io.threads={before}")
    new = layered({"num.io.threads": str(after)}, file=old)
    if fits:
        check_change(old, new)
    else:
        with pytest.raises(ConfigError, match=f"num.io.threads={after}: .*{before}"):
            check_change(old, new)


@pytest.mark.parametrize("name", ["max.connections", "listener.name.plaintext.max.connections"])
def test_dynamic_connection_limits_must_be_at_least_1(name: str) -> None:
    with pytest.raises(ConfigError, match="at least 1"):
        check_change(FILE, layered({name: "0"}))
    in_file = load_config(f"{name}=0")
    check_change(in_file, layered({"log.segment.bytes": "9000"}, file=in_file))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("connections.max.idle.ms", "5"),
        ("connections.max.reauth.ms", "5"),
        ("ssl.allow.dn.changes", "true"),
        ("ssl.principal.mapping.rules", "RULE:^.*$/x/"),
    ],
)
def test_setting_that_is_read_when_a_listener_is_opened_cannot_change_for_that_listener(
    setting: str, value: str
) -> None:
    name = f"listener.name.plaintext.{setting}"
    with pytest.raises(ConfigError, match=f"^{name}: cannot be changed while the listener is open"):
        check_change(FILE, layered({}, {name: value}))
    unchanged = load_config(f"{name}={value}")
    check_change(unchanged, layered({"log.segment.bytes": "9000"}, {name: value}, file=unchanged))


def test_changed_settings_are_found_by_value_not_by_text() -> None:
    assert changed_settings(FILE, layered({"log.segment.bytes": " 1000 "})) == []
    assert changed_settings(FILE, layered({"log.segment.bytes": "1001", "a.b": "1"})) == ["log.segment.bytes", "a.b"]
    assert changed_settings(layered({"a.b": "1"}), FILE) == ["a.b"]


def test_settings_that_are_only_set_while_running_are_checked_like_others() -> None:
    for setting in DYNAMIC_ONLY_SETTINGS.values():
        assert setting.name not in BROKER_SETTINGS
        assert setting.scope is Scope.CLUSTER_WIDE
        assert setting.parse(setting.default or "") == 2**63 - 1


# -- topics


def test_existing_topics_keep_settings_that_conflict_with_the_brokers_new_ones() -> None:
    config = layered({"log.cleaner.max.compaction.lag.ms": "5"})
    overrides = {"min.compaction.lag.ms": "9"}
    assert TopicConfig.in_force(config, overrides).int("min.compaction.lag.ms") == 9
    with pytest.raises(ConfigError, match=r"min\.compaction\.lag\.ms=9"):
        TopicConfig.defaults(config, overrides)


def test_unknown_and_invalid_stored_topic_settings_are_left_out() -> None:
    good, problems = usable_overrides({"retention.ms": "5", "segment.bytes": "tiny", "of.kafka.5": "x"})
    assert good == {"retention.ms": "5"}
    assert [problem.partition(":")[0] for problem in problems] == ["segment.bytes=tiny", "of.kafka.5"]


@pytest.mark.parametrize("name", ["remote.storage.enable", "remote.log.copy.disable", "remote.log.delete.on.disable"])
def test_tiered_storage_is_refused_for_topics(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}=true"):
        TopicConfig.defaults(FILE, {name: "true"})
    assert not TopicConfig.defaults(FILE, {name: "false"}).boolean(name)


# -- the file, again


def test_reloaded_file_stays_below_the_overrides(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\nnum.io.threads=4\n")
    config = load_config(file, {"num.io.threads": "5"})
    assert config.file == file
    file.write_text("num.partitions=6\nnum.io.threads=7\n")
    again = reload_config(config)
    assert (again.int("num.partitions"), again.int("num.io.threads"), again.file) == (6, 5, file)
    file.write_text("num.partitions=none\n")
    with pytest.raises(ConfigError, match=r"num\.partitions=none"):
        reload_config(config)
    assert reload_config(FILE) is FILE, "it came from no file"


def test_dynamic_values_stay_when_the_file_changes() -> None:
    config = layered({"log.segment.bytes": "2000"})
    again = with_static(config, load_config("log.segment.bytes=9000\nmessage.max.bytes=8").static)
    assert (again.int("log.segment.bytes"), again.int("message.max.bytes")) == (2000, 8)


@pytest.mark.parametrize(
    ("name", "reloadable"),
    [
        ("num.io.threads", True),
        ("num.partitions", False),
        ("listeners", False),
        ("log.retention.hours", False),
        ("listener.name.x.ssl.keystore.location", True),
        ("listener.name.x.ssl.principal.mapping.rules", False),
        ("listener.name.x.scram-sha-512.sasl.jaas.config", False),
        ("listener.name.x.max.connections", True),
        ("listener.name.x.ssl.allow.dn.changes", False),
        ("sasl.enabled.mechanisms", False),
        ("listener.name.x.sasl.enabled.mechanisms", False),
        ("listener.name.x.plain.sasl.jaas.config", False),
        ("listener.name.x.scram-sha-256.connections.max.reauth.ms", False),
        ("super.users", False),
        ("allow.everyone.if.no.acl.found", False),
        ("plugin.setting", True),
        ("listener.name.x.plugin.setting", True),
    ],
)
def test_reloadable_settings_are_those_that_the_broker_applies_while_it_runs(name: str, reloadable: bool) -> None:
    assert is_reloadable(name) is reloadable


def test_look_up_of_a_dynamic_setting_does_not_iterate_over_all_names() -> None:
    class Unlisted(dict[str, str]):
        def __iter__(self) -> Iterator[str]:
            raise AssertionError("all names were gone through")

    layers = DynamicLayers(Unlisted({"all": "1"}), Unlisted({"one": "2"}))
    assert [name in layers for name in ("all", "one", "none")] == [True, True, False]


def test_layers_of_a_config_are_created_once() -> None:
    config = layered({"message.max.bytes": "7"}, {"log.segment.bytes": "3000"})
    assert all(one is other for one, other in zip(config.layers, config.layers, strict=True))


def test_unknown_dynamic_names_are_recognized() -> None:
    config = layered({"huh": "1", "leader.replication.throttled.rate": "5", "listener.name.x.max.connections": "4"})
    named = ("huh", "leader.replication.throttled.rate", "listener.name.x.max.connections", "num.partitions", "other")
    assert [name for name in named if config.is_unknown_dynamic(name)] == ["huh"]
    assert not load_config("huh=1").is_unknown_dynamic("huh")  # a name in the file is reported with a hint instead
