"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs."""

from collections.abc import Mapping, Sequence

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_topic
from pybroker.protocol.messages import alter_configs as ac
from pybroker.protocol.messages import describe_configs as dc
from pybroker.protocol.messages import incremental_alter_configs as ic

__all__ = ["SCENARIOS"]

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
# Where a broker listens and keeps its data, and what follows from the metadata store.
OWN_VALUES = {"listeners", "advertised.listeners", "log.dir", "log.dirs", "zookeeper.connect"}


def describe(
    name: str, keys: Sequence[str] | None = None, kind: int = TOPIC, **fields: bool
) -> dc.DescribeConfigsRequest:
    resource = dc.DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None if keys is None else list(keys)
    )
    return dc.DescribeConfigsRequest(
        resources=[resource],
        include_synonyms=fields.get("synonyms", False),
        include_documentation=fields.get("documentation", False),
    )


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


def by_name(answer: Json) -> Json:
    """Each setting by its name; its documentation only by whether there is one."""
    for result in answer["results"]:
        for config in result["configs"]:
            if "documentation" in config:
                config["documentation"] = "some text" if config["documentation"] else config["documentation"]
            if config["name"] in OWN_VALUES:
                config["value"] = "its own"
                for synonym in config.get("synonyms", ()):
                    synonym["value"] = "its own"
        result["configs"] = {config.pop("name"): config for config in result["configs"]}
    return answer


def set_now(talk: Conversation, name: str, kind: int = TOPIC) -> None:
    """Record what is set, where it is set, of the settings that these scenarios change."""
    talk.ask(describe(name, CHANGED, kind), 4, see=by_name)


CHANGED = ("retention.ms", "cleanup.policy", "segment.bytes", "max.message.bytes", "no.such.setting")


def describe_configs_of_a_topic_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk, retention_ms="1000", cleanup_policy="compact")
    for version in range(5):
        talk.ask(describe(topic), version, see=by_name)
    for version in range(1, 5):
        talk.ask(describe(topic, synonyms=True), version, see=by_name)
    talk.ask(describe(topic, documentation=True), 4, see=by_name)


def describe_some_configs_of_a_topic(talk: Conversation) -> None:
    topic = a_topic(talk)
    for keys in ((), ("retention.ms",), ("retention.ms", "no.such.setting"), ("retention.ms", "retention.ms"), ("",)):
        for version in (0, 4):
            talk.ask(describe(topic, keys), version, note=str(keys), see=by_name)


def describe_configs_of_the_broker(talk: Conversation) -> None:
    talk.ask(describe("0", kind=BROKER, synonyms=True), 4, see=by_name)
    talk.ask(describe("0", ("log.retention.ms", "message.max.bytes", "no.such"), BROKER), 1, see=by_name)
    talk.ask(describe("", kind=BROKER), 4, see=by_name)


def describe_configs_of_what_is_not_there(talk: Conversation) -> None:
    for version in (0, 4):
        talk.ask(describe(talk.name("unknown")), version)
        talk.ask(describe("a b"), version, note="invalid name")
        talk.ask(describe(""), version, note="empty name")
        for broker in ("1", "-1", "x", "00"):
            talk.ask(describe(broker, kind=BROKER), version, note=f"broker {broker!r}", see=without_configs)
        for kind in (0, 1, 3, 5, 99, -1):
            talk.ask(describe("0", kind=kind), version, note=f"type {kind}")
        talk.ask(dc.DescribeConfigsRequest(), version)
    for logger in ("1", "x", ""):
        talk.ask(describe(logger, kind=LOGGER), 4, note=f"logger {logger!r}")


def without_configs(answer: Json) -> Json:
    for result in answer["results"]:
        result["configs"] = "some" if result["configs"] else "none"
    return answer


def describe_configs_of_a_resource_named_twice(talk: Conversation) -> None:
    topic = a_topic(talk)
    request = describe(topic, ("retention.ms",))
    request.resources += describe(topic, ("segment.bytes",)).resources
    talk.ask(request, 4)


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
    describe_configs_of_a_topic_in_every_version,
    describe_some_configs_of_a_topic,
    describe_configs_of_the_broker,
    describe_configs_of_what_is_not_there,
    describe_configs_of_a_resource_named_twice,
    alter_configs_in_every_version,
    alter_configs_wrongly,
    alter_a_setting_named_twice,
    change_configs_in_every_version,
    change_configs_wrongly,
    change_configs_named_twice,
    change_configs_of_the_broker,
]
