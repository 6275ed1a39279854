"""A topic's own settings take precedence over the broker's settings."""

import pytest
from pybroker.config.config_entries import ConfigSource, ConfigType, broker_entries, topic_entries
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config, unchecked_config
from pybroker.config.table import TOPIC_SETTINGS
from pybroker.config.topic_config import TopicConfig, broker_defaults
from pybroker.config.values import format_value
from pybroker.storage.log_config import LogConfig


def test_topic_without_settings_has_kafkas_defaults() -> None:
    topic = TopicConfig.defaults(load_config(), {})
    assert {name: format_value(topic.value(name)) for name in TOPIC_SETTINGS} == {
        name: setting.default for name, setting in TOPIC_SETTINGS.items()
    }


@pytest.mark.parametrize(
    ("broker", "name", "value"),
    [
        ("log.segment.bytes=1000", "segment.bytes", 1000),
        ("log.retention.hours=1", "retention.ms", 3_600_000),
        ("log.retention.hours=1\nlog.retention.minutes=1", "retention.ms", 60_000),
        ("log.roll.hours=1", "segment.ms", 3_600_000),
        ("log.roll.jitter.hours=1", "segment.jitter.ms", 3_600_000),
        ("log.flush.scheduler.interval.ms=7", "flush.ms", 7),
        ("message.max.bytes=77", "max.message.bytes", 77),
        ("min.insync.replicas=2", "min.insync.replicas", 2),
    ],
)
def test_the_brokers_settings_give_the_defaults_of_topics(broker: str, name: str, value: int) -> None:
    assert TopicConfig.defaults(load_config(broker), {}).int(name) == value


def test_topic_setting_overrides_the_broker_setting() -> None:
    topic = TopicConfig.defaults(load_config("log.segment.bytes=1000"), {"segment.bytes": "2000"})
    assert topic.int("segment.bytes") == 2000
    assert dict(topic.overrides) == {"segment.bytes": "2000"}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"no.such": "1"}, "no.such: there is no such setting of topics"),
        ({"segment.bytes": "13"}, "segment.bytes=13: must be at least 14"),
        ({"cleanup.policy": "foo"}, "cleanup.policy=foo: must be one of compact, delete"),
        ({"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"}, "min.compaction.lag.ms=9: must not exceed"),
        ({"leader.replication.throttled.replicas": "x"}, "leader.replication.throttled.replicas=x: must be"),
    ],
)
def test_a_bad_setting_is_refused_in_one_line(overrides: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as raised:
        TopicConfig.defaults(load_config(), overrides)
    assert str(raised.value).startswith(words)


def test_timestamp_difference_max_applies_where_before_and_after_max_are_unset() -> None:
    both = TopicConfig.defaults(load_config("log.message.timestamp.difference.max.ms=5"), {})
    assert (both.timestamp_before_max_ms, both.timestamp_after_max_ms) == (5, 5)
    config = load_config("log.message.timestamp.difference.max.ms=5")
    one = TopicConfig.defaults(config, {"message.timestamp.after.max.ms": "9"})
    assert (one.timestamp_before_max_ms, one.timestamp_after_max_ms) == (5, 9)


@pytest.mark.parametrize(
    ("policy", "compacted", "deleted"),
    [("delete", False, True), ("compact", True, False), ("compact,delete", True, True)],
)
def test_cleanup_policy_decides_between_compaction_and_retention(policy: str, compacted: bool, deleted: bool) -> None:
    log = LogConfig.from_topic_config(TopicConfig.defaults(load_config(), {"cleanup.policy": policy}))
    assert (log.compact, log.delete) == (compacted, deleted)


def test_described_topic_shows_each_layer_that_could_have_given_the_value() -> None:
    config = load_config("log.segment.bytes=1000")
    entries = {
        entry.name: entry for entry in topic_entries(config, TopicConfig.defaults(config, {"segment.bytes": "2000"}))
    }
    segment = entries["segment.bytes"]
    assert (segment.value, segment.source, segment.type) == ("2000", ConfigSource.TOPIC_CONFIG, ConfigType.INT)
    assert [(synonym.name, synonym.value, synonym.source) for synonym in segment.synonyms] == [
        ("segment.bytes", "2000", ConfigSource.TOPIC_CONFIG),
        ("log.segment.bytes", "1000", ConfigSource.STATIC_BROKER_CONFIG),
        ("log.segment.bytes", "1073741824", ConfigSource.DEFAULT_CONFIG),
    ]
    assert entries["cleanup.policy"].source is ConfigSource.DEFAULT_CONFIG
    assert len(entries) == len(TOPIC_SETTINGS)


def test_described_retention_begins_at_the_ms_setting_as_kafkas_does() -> None:
    config = load_config("log.retention.ms=5\nlog.retention.hours=9")
    entries = {entry.name: entry for entry in topic_entries(config, TopicConfig.defaults(config, {}))}
    assert [synonym.name for synonym in entries["retention.ms"].synonyms] == [
        "log.retention.ms",
        "log.retention.hours",
        "log.retention.hours",
    ]
    hours = load_config("log.retention.hours=9")
    entries = {entry.name: entry for entry in topic_entries(hours, TopicConfig.defaults(hours, {}))}
    assert (entries["retention.ms"].value, entries["retention.ms"].synonyms) == (str(9 * 3_600_000), ())


def test_described_broker_hides_secrets_and_unknown_values() -> None:
    config = unchecked_config("ssl.key.password=hunter2\nplugin.secret=hunter2\nnum.io.threads=3")
    entries = {entry.name: entry for entry in broker_entries(config)}
    assert (entries["ssl.key.password"].value, entries["ssl.key.password"].is_sensitive) == (None, True)
    assert (entries["plugin.secret"].value, entries["plugin.secret"].is_sensitive) == (None, True)
    assert (entries["num.io.threads"].source, entries["num.io.threads"].is_read_only) == (
        ConfigSource.STATIC_BROKER_CONFIG,
        False,
    )
    assert entries["broker.id"].is_read_only
    assert entries["num.partitions"].documentation
    assert "unstable.api.versions.enable" not in entries, "internal settings stay hidden unless they were set"
    assert "hunter2" not in repr(list(entries.values()))


def test_a_topic_that_is_changed_leaves_the_brokers_defaults_as_they_are() -> None:
    config = load_config("log.segment.bytes=1000000\n")
    changed = broker_defaults(config)
    changed["segment.bytes"] = 1
    assert broker_defaults(config)["segment.bytes"] == 1_000_000
    assert TopicConfig.in_force(config, {"segment.bytes": "2000000"}).int("segment.bytes") == 2_000_000
    assert TopicConfig.in_force(config, {}).int("segment.bytes") == 1_000_000
