"""AlterConfigs and IncrementalAlterConfigs."""

from collections.abc import Mapping

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.describe_config_scenarios import BROKER, LOGGER, TOPIC, by_name, describe
from interop.side_by_side.requests import a_topic
from pybroker.protocol.messages import alter_configs as ac
from pybroker.protocol.messages import incremental_alter_configs as ic

__all__ = ["SCENARIOS"]

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def alter(
    name: str, settings: Mapping[str, str | None], kind: int = TOPIC, *, validate_only: bool = False
) -> ac.AlterConfigsRequest:
    configs = [ac.AlterableConfig(name=key, value=value) for key, value in settings.items()]
    resource = ac.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    return ac.AlterConfigsRequest(resources=[resource], validate_only=validate_only)


def change(
    name: str, *changes: tuple[int, str, str | None], kind: int = TOPIC, validate_only: bool = False
) -> ic.IncrementalAlterConfigsRequest:
    """Changes as (operation, setting, value)."""
    configs = [ic.AlterableConfig(config_operation=what, name=key, value=value) for what, key, value in changes]
    resource = ic.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    return ic.IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)


def set_now(talk: Conversation, name: str, kind: int = TOPIC) -> None:
    """Record what is set, where it is set, of the settings that these scenarios change."""
    talk.ask(describe(name, CHANGED, kind), 4, see=by_name)


CHANGED = ("retention.ms", "cleanup.policy", "segment.bytes", "max.message.bytes", "no.such.setting")


def alter_configs_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk, segment_bytes="5000")
    for version in range(3):
        talk.ask(alter(topic, {"retention.ms": str(1000 + version)}), version)
        set_now(talk, topic)
    talk.ask(alter(topic, {"retention.ms": "77"}, validate_only=True), 2)
    talk.ask(alter(topic, {}), 2, note="nothing")
    set_now(talk, topic)


BAD_SETTINGS: list[dict[str, str | None]] = [
    {"no.such.setting": "1"},
    {"": "1"},
    {"retention.ms": "soon"},
    {"retention.ms": ""},
    {"retention.ms": None},
    {"retention.ms": "-2"},
    {"cleanup.policy": "burn"},
    {"cleanup.policy": ""},
    {"segment.bytes": "1"},
    {"retention.ms": "1", "no.such.setting": "1"},
    {"log.retention.ms": "5"},
    {"remote.storage.enable": "true"},
    {"message.format.version": "0.9"},
]


def alter_configs_wrongly(talk: Conversation) -> None:
    topic = a_topic(talk, retention_ms="5")
    for settings in BAD_SETTINGS:
        for validate_only in (False, True):
            talk.ask(alter(topic, settings, validate_only=validate_only), 2, note=f"{settings} {validate_only}")
    talk.ask(alter(talk.name("unknown"), {"retention.ms": "1"}), 2, note="unknown topic")
    talk.ask(alter("a b", {"retention.ms": "1"}), 2, note="invalid name")
    talk.ask(alter("", {"retention.ms": "1"}), 2, note="empty name")
    talk.ask(alter("7", {"log.retention.ms": "1"}, BROKER), 2, note="another broker")
    talk.ask(alter("x", {"log.retention.ms": "1"}, BROKER), 2, note="no broker")
    for kind in (0, 1, 3, LOGGER, 99, -1):
        talk.ask(alter("0", {"retention.ms": "1"}, kind), 2, note=f"type {kind}")
    talk.ask(ac.AlterConfigsRequest(), 1, note="nothing")
    set_now(talk, topic)


def alter_a_setting_named_twice(talk: Conversation) -> None:
    """Not a resource named twice: Kafka then never answers."""
    topic = a_topic(talk)
    request = alter(topic, {"retention.ms": "4"})
    request.resources[0].configs.append(ac.AlterableConfig(name="retention.ms", value="5"))
    talk.ask(request, 1)
    set_now(talk, topic)


def change_configs_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk, segment_bytes="5000", cleanup_policy="delete")
    for version in range(2):
        talk.ask(change(topic, (SET, "retention.ms", str(version)), (DELETE, "segment.bytes", None)), version)
        set_now(talk, topic)
    talk.ask(change(topic, (APPEND, "cleanup.policy", "compact")), 1)
    set_now(talk, topic)
    talk.ask(change(topic, (APPEND, "cleanup.policy", "compact")), 1, note="again")
    talk.ask(change(topic, (SUBTRACT, "cleanup.policy", "delete")), 1)
    set_now(talk, topic)
    talk.ask(change(topic, (DELETE, "max.message.bytes", "")), 1, note="what is not set")
    talk.ask(change(topic, (SET, "retention.ms", "99"), validate_only=True), 1)
    talk.ask(change(topic), 1, note="nothing")
    set_now(talk, topic)


def change_configs_wrongly(talk: Conversation) -> None:
    topic = a_topic(talk, retention_ms="5")
    for settings in BAD_SETTINGS:
        talk.ask(change(topic, *((SET, name, value) for name, value in settings.items())), 1, note=str(settings))
    for changes in (
        [(APPEND, "retention.ms", "1")],
        [(SUBTRACT, "retention.ms", "1")],
        [(APPEND, "cleanup.policy", "burn")],
        [(APPEND, "cleanup.policy", "")],
        [(APPEND, "cleanup.policy", None)],
        [(SUBTRACT, "cleanup.policy", "compact")],
        [(SUBTRACT, "cleanup.policy", "delete")],
        [(DELETE, "no.such.setting", None)],
        [(SET, "retention.ms", "1"), (SET, "retention.ms", "2")],
        [(SET, "retention.ms", "1"), (DELETE, "retention.ms", None)],
        [(4, "retention.ms", "1")],
        [(-1, "retention.ms", "1")],
        [(SET, "retention.ms", None), (SET, "segment.bytes", None)],
    ):
        talk.ask(change(topic, *changes), 1, note=str(changes))
    talk.ask(change(talk.name("unknown"), (SET, "retention.ms", "1")), 1, note="unknown topic")
    talk.ask(change("a b", (SET, "retention.ms", "1")), 1, note="invalid name")
    talk.ask(change("7", (SET, "log.retention.ms", "1"), kind=BROKER), 1, note="another broker")
    talk.ask(change("x", (SET, "log.retention.ms", "1"), kind=BROKER), 1, note="no broker")
    for kind in (0, 1, 3, 99, -1):
        talk.ask(change("0", (SET, "retention.ms", "1"), kind=kind), 1, note=f"type {kind}")
    set_now(talk, topic)


def change_configs_named_twice(talk: Conversation) -> None:
    topic, other = a_topic(talk), a_topic(talk, "other")
    request = change(topic, (SET, "retention.ms", "1"))
    request.resources += change(topic, (SET, "retention.ms", "2")).resources
    request.resources += change(other, (SET, "retention.ms", "3")).resources
    talk.ask(request, 1)


def change_configs_of_the_broker(talk: Conversation) -> None:
    """Settings that no other scenario looks at, and taken back again."""
    asked = ("log.cleaner.backoff.ms", "num.io.threads", "log.cleaner.threads")
    for broker in ("0", ""):
        talk.ask(change(broker, (SET, "log.cleaner.backoff.ms", "15001"), kind=BROKER), 1)
        talk.until(describe("0", asked[:1], BROKER), 4, lambda answer: answer.results[0].configs[0].value == "15001")
        talk.ask(describe(broker, asked, BROKER, synonyms=True), 4, see=by_name)
        talk.ask(change(broker, (DELETE, "log.cleaner.backoff.ms", None), kind=BROKER), 1)
        talk.until(describe("0", asked[:1], BROKER), 4, lambda answer: answer.results[0].configs[0].value == "15000")
    for setting, value in (
        ("broker.id", "1"),
        ("zookeeper.connect", "elsewhere"),
        ("num.io.threads", "0"),
        ("num.io.threads", "100000"),
        ("log.cleaner.threads", "x"),
        ("log.dirs", "/tmp"),
        ("no.such.setting", "1"),
        ("offsets.topic.num.partitions", "7"),
        ("log.retention.ms", "soon"),
        ("max.connections", "-1"),
        ("compression.type", "rar"),
    ):
        for broker in ("0", ""):
            talk.ask(
                change(broker, (SET, setting, value), kind=BROKER, validate_only=True),
                1,
                note=f"{setting}={value} for {broker or 'all'}",
            )
    talk.ask(describe("0", asked, BROKER), 4, see=by_name)


SCENARIOS = [
    alter_configs_in_every_version,
    alter_configs_wrongly,
    alter_a_setting_named_twice,
    change_configs_in_every_version,
    change_configs_wrongly,
    change_configs_named_twice,
    change_configs_of_the_broker,
]
