"""Changed topic settings are passed on to the logs, the partitions and the elections of leaders."""

import pytest
from pybroker.broker.settings.topic_overrides import TopicOverrides
from pybroker.broker.settings.topic_settings import DEFAULTS_OF_TOPICS, TopicSettings
from pybroker.config.config import Config
from pybroker.config.load import load_config, with_overrides
from pybroker.config.setting import Scope
from pybroker.config.table import BROKER_SETTINGS


class Told:
    """The parts of the broker, which record their notifications in order."""

    def __init__(self, file: str = "") -> None:
        self.heard: list[str] = []
        self.config = load_config(file)
        self.overrides = TopicOverrides()
        self.settings = TopicSettings(self.config, self.overrides, self, self, self.allow)

    def update_topic_config(self, topic: str) -> None:
        self.heard.append(f"logs of {topic}: {dict(self.overrides(topic))}")

    def update_config(self, config: Config) -> None:
        self.heard.append(f"all logs: {config.int('log.segment.bytes')}")

    def topic_settings_changed(self, topic: str) -> None:
        self.heard.append(f"partitions of {topic}: {dict(self.overrides(topic))}")

    def default_settings_changed(self) -> None:
        self.heard.append("all partitions")

    def allow(self, topic: str | None) -> None:
        self.heard.append(f"unclean elections: {topic}")


async def test_changed_topic_settings_reach_the_logs_and_partitions_of_the_topic() -> None:
    told = Told()
    await told.settings.take("t", {"retention.ms": "5"})
    assert told.heard == ["logs of t: {'retention.ms': '5'}", "partitions of t: {'retention.ms': '5'}"]
    await told.settings.take("t", {})
    assert told.overrides("t") == {}


async def test_unusable_topic_settings_are_skipped_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    told = Told()
    await told.settings.take("t", {"retention.ms": "long", "segment.bytes": "2000", "of.kafka.5": "1"})
    assert told.overrides("t") == {"segment.bytes": "2000"}
    assert len(caplog.records) == 2


@pytest.mark.parametrize(("value", "allowed"), [("true", True), (" TRUE ", True), ("false", False), ("maybe", False)])
async def test_topic_that_allows_unclean_elections_triggers_elections(value: str, allowed: bool) -> None:
    told = Told()
    await told.settings.take("t", {"unclean.leader.election.enable": value})
    assert ("unclean elections: t" in told.heard) is allowed


def test_unclean_elections_allowed_by_default_trigger_elections() -> None:
    told = Told()
    allowing = with_overrides(told.config, {"unclean.leader.election.enable": "true"})
    told.settings.take_defaults(told.config)
    assert told.heard == ["all logs: 1073741824", "all partitions"]
    told.heard.clear()
    told.settings.take_defaults(allowing)
    assert told.heard == ["all logs: 1073741824", "all partitions", "unclean elections: None"]
    told.settings.take_defaults(allowing)
    told.settings.take_defaults(told.config)
    told.settings.take_defaults(allowing)
    assert told.heard.count("unclean elections: None") == 2


def test_defaults_of_topics_include_settings_that_can_change_while_running() -> None:
    changing = {name for name in DEFAULTS_OF_TOPICS if BROKER_SETTINGS[name].scope is Scope.CLUSTER_WIDE}
    assert {"log.retention.ms", "message.max.bytes", "min.insync.replicas", "producer.id.expiration.ms"} <= changing
