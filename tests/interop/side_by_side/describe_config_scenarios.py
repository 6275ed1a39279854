"""Scenarios of DescribeConfigs: every setting, its value and its sources."""

from collections.abc import Sequence

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_topic
from pybroker.protocol.messages import describe_configs as dc

__all__ = ["BROKER", "LOGGER", "SCENARIOS", "TOPIC", "by_name", "describe"]

TOPIC, BROKER, LOGGER, METRICS = 2, 4, 8, 16
# Addresses, directories, and settings that follow from the metadata store.
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


def by_name(answer: Json) -> Json:
    """Returns the settings by name; of the documentation only whether it exists."""
    for result in answer["results"]:
        for config in result["configs"]:
            if "documentation" in config:
                config["documentation"] = "some text" if config["documentation"] else config["documentation"]
            if config["name"] in OWN_VALUES and config["value"]:
                config["value"] = "its own"
                for synonym in config.get("synonyms", ()):
                    synonym["value"] = "its own"
        result["configs"] = {config.pop("name"): config for config in result["configs"]}
    return answer


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
    """Describes every setting with all details."""
    talk.ask(describe("0", kind=BROKER, synonyms=True, documentation=True), 4, see=by_name)


SOME_SETTINGS = ("log.retention.ms", "message.max.bytes", "broker.id", "log.dirs", "ssl.key.password", "no.such")


def describe_some_configs_of_the_broker(talk: Conversation) -> None:
    for version in range(1, 5):
        for synonyms in (False, True):
            talk.ask(describe("0", SOME_SETTINGS, BROKER, synonyms=synonyms), version, see=by_name)
        talk.ask(describe("", kind=BROKER), version, note="of all brokers", see=by_name)
        talk.ask(describe("", SOME_SETTINGS, BROKER), version, note="of all brokers", see=by_name)
    for version in (3, 4):
        talk.ask(describe("0", SOME_SETTINGS, BROKER, documentation=True), version, see=by_name)


# -- loggers


def some_level(answer: Json) -> Json:
    """Replaces loggers and levels, which differ between the brokers."""
    for result in answer["results"]:
        for config in result["configs"]:
            config["value"] = "some level" if config["value"] in LEVELS else config["value"]
    return by_name(answer)


LEVELS = ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL")


def describe_loggers(talk: Conversation) -> None:
    for version in range(1, 5):
        for synonyms in (False, True):
            for documentation in (False, True) if version >= 3 else (False,):
                both = {"synonyms": synonyms, "documentation": documentation}
                talk.ask(describe("0", ("root", "no.such.logger"), LOGGER, **both), version, see=some_level)
    talk.ask(describe("0", ("no.such.logger",), LOGGER), 4)
    talk.ask(describe("0", kind=LOGGER), 4, see=lambda answer: len(answer["results"][0]["configs"]) > 10)


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


SCENARIOS = [
    describe_configs_of_a_topic_in_every_version,
    describe_some_configs_of_a_topic,
    describe_configs_of_the_broker,
    describe_some_configs_of_the_broker,
    describe_loggers,
    describe_configs_of_what_is_not_there,
    describe_configs_of_a_resource_named_twice,
]
