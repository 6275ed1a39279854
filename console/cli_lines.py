"""The command lines of Kafka's tools that do the same as the console."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from ..base.acl_rules.question import OPTIONS_OF_TYPES, AclQuestion
from ..base.acls import AclResourceType
from ..base.kafka_names import CONSUMER_OFFSETS_TOPIC
from .records.places import Place

_NULL = "NULL"


class CliLines:
    """Lines for one cluster; `has_login`: they need a file of settings, which the reader puts in place of FILE."""

    def __init__(self, bootstrap: str, has_login: bool) -> None:
        self._bootstrap = bootstrap
        self._has_login = has_login

    def topics(self) -> str:
        return self._line("kafka-topics.sh", "--describe")

    def topic(self, topic: str) -> str:
        return self._line("kafka-topics.sh", "--describe", "--topic", topic)

    def groups(self) -> str:
        return self._line("kafka-consumer-groups.sh", "--describe", "--all-groups")

    def group(self, group: str) -> str:
        return self._line("kafka-consumer-groups.sh", "--describe", "--group", group)

    def brokers(self) -> str:
        return self._line("kafka-broker-api-versions.sh")

    def log_directories(self) -> str:
        return self._line("kafka-log-dirs.sh", "--describe")

    def configs(self, broker_id: int | None) -> str:
        place = ["--entity-default"] if broker_id is None else ["--entity-name", str(broker_id)]
        return self._line("kafka-configs.sh", "--describe", "--all", "--entity-type", "brokers", *place)

    def explain_acl(self, question: AclQuestion, has_v1: bool) -> str:
        """A pybroker explains; Kafka's tool lists the ACLs that may apply. FILE: settings of a broker."""
        resource = OPTIONS_OF_TYPES[question.resource_type]
        named = (
            [f"--{resource}"] if question.resource_type is AclResourceType.CLUSTER else [f"--{resource}", question.name]
        )
        if not has_v1:
            return self._line("kafka-acls.sh", "--list", *named, "--resource-pattern-type", "match")
        asked = ["--user", question.principal, "--host", question.host, "--operation", question.operation.pascal_name]
        return shlex.join(["pybroker", "explain", "acl", "--config", "FILE", *asked, *named])

    def records(self, topic: str, partitions: list[int], place: Place, limit: int) -> str:
        """The console consumer reads one partition from an offset, or all of them from the start or the end."""
        arguments = ["--topic", topic, "--max-messages", str(limit)]
        if len(partitions) == 1 and place.kind in ("offset", "at"):
            offset = place.number if place.kind == "offset" else dict(place.offsets).get(partitions[0], 0)
            arguments += ["--partition", str(partitions[0]), "--offset", str(offset)]
        elif place.kind != "latest":
            arguments.append("--from-beginning")
        shown = ["timestamp", "partition", "offset", "headers", "key"]
        arguments += [word for name in shown for word in ("--property", f"print.{name}=true")]
        if topic == CONSUMER_OFFSETS_TOPIC:
            arguments += ["--formatter", "org.apache.kafka.tools.consumer.OffsetsMessageFormatter"]
        return self._line("kafka-console-consumer.sh", *arguments, config="--consumer.config")

    def record(self, topic: str, partition: int, offset: int) -> str:
        return self.records(topic, [partition], Place("offset", offset), 1)

    def create_topic(
        self, name: str, partitions: int | None, replication_factor: int | None, configs: Mapping[str, str]
    ) -> str:
        arguments = ["--create", "--topic", name]
        if partitions is not None:
            arguments += ["--partitions", str(partitions)]
        if replication_factor is not None:
            arguments += ["--replication-factor", str(replication_factor)]
        for setting, value in configs.items():
            arguments += ["--config", f"{setting}={value}"]
        return self._line("kafka-topics.sh", *arguments)

    def delete_topic(self, name: str) -> str:
        return self._line("kafka-topics.sh", "--delete", "--topic", name)

    def delete_group(self, group: str) -> str:
        return self._line("kafka-consumer-groups.sh", "--delete", "--group", group)

    def reset(self, group: str, topic: str, partitions: list[int] | None, to: Place, shift: int | None) -> str:
        place = topic if partitions is None else f"{topic}:{','.join(map(str, partitions))}"
        how = {
            "earliest": ["--to-earliest"],
            "latest": ["--to-latest"],
            "offset": ["--to-offset", str(to.number)],
            "time": ["--to-datetime", _java_time(to.number)],
        }
        arguments = ["--shift-by", str(shift)] if shift is not None else how[to.kind]
        return self._line(
            "kafka-consumer-groups.sh", "--reset-offsets", "--group", group, "--topic", place, *arguments, "--execute"
        )

    def produce(
        self, topic: str, key: str | None, value: str | None, headers: Sequence[tuple[str, str | None]] = ()
    ) -> str:
        """The console producer, with the record on its standard input. Tabs part headers, key and value."""
        arguments = ["--topic", topic]
        text = _NULL if value is None else value
        if key is not None:
            arguments += ["--property", "parse.key=true"]
            text = f"{key}\t{text}"
        if headers:
            arguments += ["--property", "parse.headers=true"]
            named = (f"{name}:{_NULL if data is None else data}" for name, data in headers)
            text = f"{','.join(named)}\t{text}"
        if value is None or any(data is None for _, data in headers):
            arguments += ["--property", f"null.marker={_NULL}"]
        line = self._line("kafka-console-producer.sh", *arguments, config="--producer.config")
        return f"printf '%s\\n' {shlex.quote(text)} | {line}"

    def _line(self, tool: str, *arguments: str, config: str = "--command-config") -> str:
        login = [config, "FILE"] if self._has_login else []
        return shlex.join([tool, "--bootstrap-server", self._bootstrap, *login, *arguments])


def _java_time(time_ms: int) -> str:
    from datetime import UTC, datetime

    moment = datetime.fromtimestamp(time_ms / 1000, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time_ms % 1000:03}"
