"""``kafka-topics``: lists, describes, creates, alters and deletes topics (Kafka: TopicCommand)."""

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from ...protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from ...protocol.messages.delete_topics import DeleteTopicsRequest
from ...protocol.messages.metadata import MetadataResponseTopic
from .described_topics import TopicFilters, describe
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import ScriptParser, UsageError, check_required, check_together

__all__ = ["topic_command"]

_TIMEOUT_MS = 60_000
_BROKERS_CHOICE = -1
_COLLISIONS = (
    "WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. To "
    "avoid issues it is best to use either, but not both."
)
_FILTERS = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
    "topics-with-overrides",
)
_FORBIDDEN = {
    "list": ("partitions", "replication-factor", "replica-assignment", "config", "if-not-exists", *_FILTERS),
    "describe": ("partitions", "replication-factor", "replica-assignment", "config", "if-not-exists"),
    "create": (*_FILTERS, "if-exists", "exclude-internal"),
    "alter": ("replication-factor", "config", "if-not-exists", "exclude-internal", *_FILTERS),
    "delete": ("partitions", "replication-factor", "replica-assignment", "config", "if-not-exists", *_FILTERS),
}


class _FailedError(Exception):
    """Why the command failed, in Kafka's words."""


def topic_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        action = _checked_action(options)
    except UsageError as error:
        return parser.refuse(error)
    try:
        with script_cluster(options) as cluster:
            _ACTIONS[action](cluster, options)
    except (_FailedError, *CLUSTER_ERRORS) as error:
        sys.stdout.write(f"Error while executing topic command : {error}\n")
        return 1
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-topics", "Create, delete, describe, or change a topic.")
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The Kafka server to connect to.")
    add("--command-config", metavar="FILE", type=Path, help="Property file containing configs of the admin client.")
    for action, meaning in (
        ("list", "List all available topics."),
        ("create", "Create a new topic."),
        ("delete", "Delete a topic."),
        ("alter", "Alter the number of partitions and replica assignment."),
        ("describe", "List details for the given topics."),
    ):
        add(f"--{action}", action="store_true", help=meaning)
    add("--topic", metavar="TOPIC", help="The topic to create, alter, describe or delete; may be a regular expression.")
    add("--topic-id", metavar="ID", help="The topic id to describe.")
    add("--config", metavar="NAME=VALUE", action="append", default=[], help="A topic configuration override.")
    add("--delete-config", metavar="NAME", action="append", default=[], help=argparse.SUPPRESS)
    add("--partitions", metavar="N", type=int, help="The number of partitions.")
    add("--replication-factor", metavar="N", type=int, help="The replication factor for each partition.")
    add("--replica-assignment", metavar="LIST", help="As broker_id:broker_id,broker_id:broker_id for each partition.")
    for name in (*_FILTERS, "if-exists", "if-not-exists", "exclude-internal", "disable-rack-aware", "force"):
        add(f"--{name}", action="store_true", help="")
    add("--partition-size-limit-per-response", metavar="N", type=int, help="")
    return parser


def _checked_action(options: argparse.Namespace) -> str:
    """The one action. Raises UsageError, as Kafka checks the options."""
    chosen = [action for action in _ACTIONS if getattr(options, action)]
    if len(chosen) != 1:
        raise UsageError("Command must include exactly one action: --list, --describe, --create, --alter or --delete")
    (action,) = chosen
    check_required(options, ["bootstrap-server"])
    if action in ("create", "delete", "alter") and options.topic_id is None:
        check_required(options, ["topic"])
    if action == "alter":
        check_together(options, action, ["config", "replication-factor"])
        check_required(options, ["partitions"])
    check_together(options, action, _FORBIDDEN[action])
    return action


def _list(cluster: AdminCluster, options: argparse.Namespace) -> None:
    topics = _matching(cluster, options)
    sys.stdout.write("\n".join(sorted(topic.name or "" for topic in topics)) + "\n")


def _create(cluster: AdminCluster, options: argparse.Namespace) -> None:
    name = options.topic
    if "." in name or "_" in name:
        sys.stdout.write(f"{_COLLISIONS}\n")
    if options.partitions is not None and options.partitions < 1:
        raise _FailedError("The partitions must be greater than 0")
    if options.replication_factor is not None and not 1 <= options.replication_factor <= 0x7FFF:
        raise _FailedError("The replication factor must be between 1 and 32767 inclusive")
    assignment = _assignment(options.replica_assignment)
    topic = CreatableTopic(
        name=name,
        num_partitions=_BROKERS_CHOICE if assignment or options.partitions is None else options.partitions,
        replication_factor=_BROKERS_CHOICE
        if assignment or options.replication_factor is None
        else options.replication_factor,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=replicas)
            for number, replicas in enumerate(assignment)
        ],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in _configs(options.config).items()],
    )
    (result,) = cluster.ask_controller(CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)).topics
    if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS and options.if_not_exists:
        return
    _check(result.error_code, result.error_message)
    sys.stdout.write(f"Created topic {name}.\n")


def _alter(cluster: AdminCluster, options: argparse.Namespace) -> None:
    assignment = _assignment(options.replica_assignment)
    for topic in _existing(cluster, options):
        added = assignment[len(topic.partitions) :]
        wanted = CreatePartitionsTopic(
            name=topic.name or "",
            count=options.partitions,
            assignments=[CreatePartitionsAssignment(broker_ids=replicas) for replicas in added] or None,
        )
        (result,) = cluster.ask_controller(CreatePartitionsRequest(topics=[wanted], timeout_ms=_TIMEOUT_MS)).results
        _check(result.error_code, result.error_message)


def _delete(cluster: AdminCluster, options: argparse.Namespace) -> None:
    names = [topic.name or "" for topic in _existing(cluster, options)]
    if not names:
        return
    for result in cluster.ask_controller(DeleteTopicsRequest(topic_names=names, timeout_ms=_TIMEOUT_MS)).responses:
        _check(result.error_code, result.error_message)


def _describe(cluster: AdminCluster, options: argparse.Namespace) -> None:
    topics = _existing(cluster, options)
    filters = TopicFilters(*(getattr(options, name.replace("-", "_")) for name in _FILTERS))
    for line in describe(cluster, sorted(topics, key=lambda topic: topic.name or ""), filters):
        sys.stdout.write(f"{line}\n")


_ACTIONS: Mapping[str, Callable[[AdminCluster, argparse.Namespace], None]] = {
    "list": _list,
    "create": _create,
    "alter": _alter,
    "delete": _delete,
    "describe": _describe,
}


def _existing(cluster: AdminCluster, options: argparse.Namespace) -> list[MetadataResponseTopic]:
    """The topics that match. Raises _FailedError when there are none but must be."""
    topics = _matching(cluster, options)
    if not topics and options.topic is not None and not options.if_exists:
        raise _FailedError(f"Topic 'Optional[{options.topic}]' does not exist as expected")
    return topics


def _matching(cluster: AdminCluster, options: argparse.Namespace) -> list[MetadataResponseTopic]:
    """The topics whose names match the list of regular expressions, with commas between (Kafka: IncludeList)."""
    topics: Iterable[MetadataResponseTopic] = cluster.metadata(None).topics
    if options.topic is not None:
        try:
            pattern = re.compile(options.topic.strip().replace(",", "|").replace(" ", ""))
        except re.error as error:
            raise _FailedError(f"{options.topic} is an invalid regex: {error}") from None
        topics = [topic for topic in topics if pattern.fullmatch(topic.name or "")]
    return [topic for topic in topics if not (options.exclude_internal and topic.is_internal)]


def _configs(pairs: Iterable[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise _FailedError(
                'requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".'
            )
        found[name.strip()] = value.strip()
    if found:
        from ...config.table import TOPIC_SETTINGS  # slow to import

        for name in found:
            if name not in TOPIC_SETTINGS:
                raise _FailedError(f"Unknown topic config name: {name}")
    return found


def _assignment(text: str | None) -> list[list[int]]:
    """The replicas of each partition. Raises _FailedError."""
    if text is None:
        return []
    try:
        return [[int(broker) for broker in partition.split(":")] for partition in text.split(",")]
    except ValueError as error:
        raise _FailedError(str(error)) from None


def _check(code: int, message: str | None) -> None:
    if code:
        raise error_for(code, message or str(error_for(code)))
