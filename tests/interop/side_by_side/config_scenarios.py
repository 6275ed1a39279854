"""Scenarios of AlterConfigs and IncrementalAlterConfigs."""

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
    """Returns a request; changes are (operation, setting, value)."""
    configs = [ic.AlterableConfig(config_operation=what, name=key, value=value) for what, key, value in changes]
    resource = ic.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    return ic.IncrementalAlterConfigsRequest(resources=[resource], validate_only=validate_only)


def set_now(talk: Conversation, name: str, kind: int = TOPIC) -> None:
    """Records the values and sources of the settings that these scenarios change."""
    talk.ask(describe(name, CHANGED, kind), 4, see=by_name)


THREADS = (
    "background.threads",
    "log.cleaner.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
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
    {"remote.log.copy.disable": "true"},
    {"remote.log.delete.on.disable": "true"},
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
    """A resource named twice is left out, because Kafka never answers that."""
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


def change_configs_to_numbers_in_other_digits(talk: Conversation) -> None:
    """Java accepts every decimal digit of Unicode that is one UTF-16 unit."""
    topic = a_topic(talk, retention_ms="5")
    for number in ("\u0661\u0662", "+\uff11\u0967", "-\u0661", "\u00b2", "\U0001d7d9", "1\u0661_0", "\u0661."):
        talk.ask(change(topic, (SET, "retention.ms", number)), 1, note=ascii(number))
        set_now(talk, topic)
    talk.ask(change(topic, (SET, "min.cleanable.dirty.ratio", "\u0661")), 1, note="a double")


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
    """Changes settings that no other scenario reads, and resets them."""
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
        *((name, number) for name in THREADS for number in ("0", "2", "3", "5", "7", "-1")),
        ("principal.builder.class", ""),
        ("listener.name.plaintext.principal.builder.class", " "),
        *(("max.connections.per.ip.overrides", f"127.0.0.1:{limit}") for limit in ("-1", "+1", "\u0661", "", "x")),
        *(("advertised.listeners", f"PLAINTEXT://127.0.0.1:{port}") for port in (-1, 65536, 2**31 - 1, 2**31, "x")),
        ("log.cleaner.backoff.ms", "\u0661\u0662"),
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


# -- layers: one broker's, all brokers', the file's

LAYERED = {"log.retention.ms": "-1", "log.flush.interval.ms": "9000000", "log.cleaner.backoff.ms": "15002"}
DEFAULTS = {"log.flush.interval.ms": None, "log.cleaner.backoff.ms": "15000"}
ITS_TOPIC_SETTINGS = ("retention.ms", "flush.ms", "segment.ms")


def in_force(talk: Conversation, source: int, values: Mapping[str, str | None]) -> None:
    """Waits for value and source: Kafka answers before a change is in force, and names the source before it has the
    value.
    """
    wanted = {name: (value, source) for name, value in values.items()}
    talk.until(
        describe("0", list(values), BROKER),
        4,
        lambda answer: wanted == {each.name: (each.value, each.config_source) for each in answer.results[0].configs},
    )


def layers_now(talk: Conversation, topic: str) -> None:
    names = (*LAYERED, "log.roll.ms", "log.flush.scheduler.interval.ms", "some.plugin.setting")
    talk.ask(describe("0", names, BROKER, synonyms=True), 4, see=by_name)
    talk.ask(describe("", names, BROKER, synonyms=True), 4, note="of all brokers", see=by_name)
    talk.ask(describe(topic, ITS_TOPIC_SETTINGS, synonyms=True), 4, see=by_name)


def settings_layer_upon_layer(talk: Conversation) -> None:
    """Sets all layers, then removes them one by one; records the effective value and its source each time."""
    topic = a_topic(talk, "given", flush_ms="7777")
    layers_now(talk, topic)
    for broker, source in (("", 3), ("0", 2)):
        wishes = [(SET, name, value) for name, value in LAYERED.items()]
        talk.ask(change(broker, *wishes, (SET, "some.plugin.setting", "secret"), kind=BROKER), 1)
        in_force(talk, source, LAYERED)
        layers_now(talk, topic)
    plain = a_topic(talk, "plain")
    layers_now(talk, plain)
    for broker, source, values in (("0", 3, LAYERED), ("", 5, DEFAULTS)):
        gone = [(DELETE, name, None) for name in (*LAYERED, "some.plugin.setting")]
        talk.ask(change(broker, *gone, kind=BROKER), 1)
        in_force(talk, source, {name: values[name] for name in DEFAULTS})
        layers_now(talk, topic)


def alter_configs_of_the_broker(talk: Conversation) -> None:
    """Uses the older request, which replaces all settings."""
    one, other = "log.cleaner.backoff.ms", "log.cleaner.io.buffer.size"
    for version in range(3):
        for broker, source in (("", 3), ("0", 2)):
            both: dict[str, str | None] = {one: "15004", other: "524289"}
            talk.ask(alter(broker, both, BROKER), version, note=broker or "all")
            in_force(talk, source, both)
            talk.ask(alter(broker, {one: "15003"}, BROKER, validate_only=True), version, note="only to validate")
            talk.ask(alter(broker, {one: "15003"}, BROKER), version, note="one of them")
            in_force(talk, source, {one: "15003"})
            in_force(talk, 5, {other: "524288"})
            talk.ask(alter(broker, {}, BROKER), version, note="none")
            in_force(talk, 5, {one: "15000", other: "524288"})
    for settings in (
        {"broker.id": "1"},
        {"log.cleaner.backoff.ms": "soon"},
        {"log.cleaner.backoff.ms": "1", "log.dirs": "/tmp"},
        {"listeners": "PLAINTEXT://:1"},
        {"advertised.listeners": "PLAINTEXT://elsewhere:1"},
        {"": "1"},
    ):
        for broker in ("0", ""):
            wish: dict[str, str | None] = dict(settings)
            request = alter(broker, wish, BROKER, validate_only=True)
            talk.ask(request, 2, note=f"{settings} for {broker or 'all'}")


def change_lists(talk: Conversation) -> None:
    """Appends to and subtracts from lists; other settings refuse that."""
    topic = a_topic(talk)
    replicas = "leader.replication.throttled.replicas"
    for what, value in (
        (APPEND, "0:0"),
        (APPEND, "1:0"),
        (APPEND, "0:0,2:0"),
        (SUBTRACT, "1:0"),
        (SUBTRACT, "1:0"),
        (SUBTRACT, "2:0,0:0"),
        (APPEND, "*"),
        (APPEND, "nonsense"),
        (APPEND, " 3:0 , 4:0 "),
    ):
        talk.ask(change(topic, (what, replicas, value)), 1, note=f"{what} {value}")
        talk.ask(describe(topic, (replicas,)), 4, see=by_name)
    for changes in (
        [(APPEND, "cleanup.policy", "compact"), (SUBTRACT, "cleanup.policy", "delete")],
        [(APPEND, "cleanup.policy", "compact"), (APPEND, "cleanup.policy", "delete")],
        [(SET, "cleanup.policy", "compact,compact")],
        [(SET, "cleanup.policy", "")],
        [(SUBTRACT, "cleanup.policy", "")],
        [(APPEND, "compression.type", "gzip")],
        [(SUBTRACT, "min.insync.replicas", "1")],
        [(APPEND, "no.such.setting", "1")],
        [(SUBTRACT, "no.such.setting", "1")],
    ):
        for validate_only in (True, False):
            request = change(topic, *changes, validate_only=validate_only)
            talk.ask(request, 1, note=f"{changes} {validate_only}")
        set_now(talk, topic)


def change_lists_of_the_broker(talk: Conversation) -> None:
    for broker in ("0", ""):
        for what, name, value in (
            (APPEND, "log.cleanup.policy", "compact"),
            (APPEND, "log.cleanup.policy", "burn"),
            (SUBTRACT, "log.cleanup.policy", "delete"),
            (SUBTRACT, "log.cleanup.policy", "compact"),
            (APPEND, "log.cleaner.backoff.ms", "1"),
            (APPEND, "broker.id", "1"),
            (DELETE, "broker.id", None),
            (DELETE, "log.cleaner.backoff.ms", None),
            (DELETE, "no.such.setting", None),
            (SET, "log.cleaner.backoff.ms", None),
            (SET, "metric.reporters", ""),
            (APPEND, "metric.reporters", ""),
        ):
            request = change(broker, (what, name, value), kind=BROKER, validate_only=True)
            talk.ask(request, 1, note=f"{what} {name} {value} for {broker or 'all'}")
        twice = change(
            broker, (SET, "log.cleaner.backoff.ms", "1"), (DELETE, "log.cleaner.backoff.ms", None), kind=BROKER
        )
        talk.ask(twice, 1, note="twice")


def change_loggers(talk: Conversation) -> None:
    """Changes loggers only with validate_only or invalid values, so that the brokers keep logging."""
    for version in range(2):
        for changes in (
            [(SET, "root", "DEBUG")],
            [(SET, "root", "debug")],
            [(SET, "root", "LOUD")],
            [(SET, "root", "")],
            [(SET, "root", None)],
            [(SET, "no.such.logger", "INFO")],
            [(SET, "", "INFO")],
            [(DELETE, "root", None)],
            [(DELETE, "no.such.logger", None)],
            [(APPEND, "root", "INFO")],
            [(SUBTRACT, "root", "INFO")],
            [(9, "root", "INFO")],
            [(SET, "root", "INFO"), (SET, "root", "DEBUG")],
            [],
        ):
            for broker in ("0", "7", "", "x"):
                request = change(broker, *changes, kind=LOGGER, validate_only=True)
                talk.ask(request, version, note=f"{changes} of {broker!r}")
    talk.ask(alter("0", {"root": "INFO"}, LOGGER), 2, note="by the older request")


SCENARIOS = [
    alter_configs_in_every_version,
    alter_configs_wrongly,
    alter_a_setting_named_twice,
    change_configs_in_every_version,
    change_configs_to_numbers_in_other_digits,
    change_configs_wrongly,
    change_configs_named_twice,
    change_configs_of_the_broker,
    settings_layer_upon_layer,
    alter_configs_of_the_broker,
    change_lists,
    change_lists_of_the_broker,
    change_loggers,
]
