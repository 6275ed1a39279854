"""``kafka-get-offsets``: an offset of each partition, by place or time (Kafka: GetOffsetShell)."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ...base.command_parser import CommandError
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.cluster import NO_OFFSET
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import ScriptParser, UsageError, check_required

__all__ = ["get_offsets_command"]

_ABOUT = "An interactive shell for getting topic-partition offsets."
_PLACES = {"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5}
_RULE = re.compile(r"([^:,]*)(?::(?:(\d*)|(?:(\d*)-(\d*))))?")
_NUMBER = re.compile(r"-?\d{1,18}")
_ANY_TOPIC = ".*"

_Wanted = Callable[[TopicPartition], bool]


def get_offsets_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        check_required(options, ["bootstrap-server"])
    except UsageError as error:
        return parser.refuse(error)
    try:
        wanted, time = _wanted(options), _time(options.time)
        with script_cluster(options) as cluster:
            _print(cluster, wanted, time, with_internal=not options.exclude_internal_topics)
    except CLUSTER_ERRORS as error:
        sys.stderr.write(f"Error occurred: {error}\n")
        return 1
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-get-offsets", _ABOUT)
    add = parser.add_argument
    add("--bootstrap-server", "--broker-list", metavar="SERVERS", help="REQUIRED: The servers to connect to.")
    add("--topic-partitions", metavar="LIST", help="Partitions: t1:0,t2:1-3,t3; the end of a range is not in it.")
    add("--topic", metavar="PATTERN", help="The topics, as a regular expression.")
    add("--partitions", metavar="LIST", help="The partitions, with commas between.")
    add("--time", metavar="TIME", nargs="?", default="latest", const="latest", help=f"ms, or {', '.join(_PLACES)}")
    add("--command-config", metavar="FILE", type=Path, help="Property file containing configs of the admin client.")
    add("--exclude-internal-topics", action="store_true", help="Leave out internal topics.")
    return parser


def _print(cluster: AdminCluster, wanted: _Wanted, time: int, *, with_internal: bool) -> None:
    chosen = [
        at
        for topic in cluster.retried(lambda: cluster.metadata(None)).topics
        if with_internal or not topic.is_internal
        for partition in topic.partitions
        if wanted(at := TopicPartition(topic.name or "", partition.partition_index))
    ]
    if not chosen:
        raise CommandError("Could not match any topic-partitions with the specified filters")
    found = cluster.offsets(dict.fromkeys(chosen, time))
    for at in sorted(chosen, key=str):
        if found[at] != NO_OFFSET:
            sys.stdout.write(f"{at.topic}:{at.partition}:{found[at]}\n")


def _time(text: str) -> int:
    if text in _PLACES:
        return _PLACES[text]
    if _NUMBER.fullmatch(text):
        return int(text)
    raise CommandError(
        f"Malformed time argument {text}. Please use -1 or latest / -2 or earliest / -3 or max-timestamp / -4 or "
        "earliest-local / -5 or latest-tiered, or a specified long format timestamp"
    )


def _wanted(options: argparse.Namespace) -> _Wanted:
    """The partitions that the options choose. Raises CommandError."""
    if options.topic_partitions is not None:
        if options.topic is not None or options.partitions is not None:
            raise CommandError("--topic-partitions cannot be used with --topic or --partitions")
        rules = [_rule(text) for text in options.topic_partitions.split(",")]
        return lambda at: any(rule(at) for rule in rules)
    topics = _pattern(_ANY_TOPIC if options.topic is None else options.topic)
    if options.partitions is None:
        return lambda at: topics.fullmatch(at.topic) is not None
    try:
        numbers = {int(text) for text in options.partitions.split(",") if text}
    except ValueError:
        raise CommandError(
            f"--partitions expects a comma separated list of numeric partition ids, but received: {options.partitions}"
        ) from None
    return lambda at: topics.fullmatch(at.topic) is not None and at.partition in numbers


def _rule(text: str) -> _Wanted:
    """The partitions of ``topic``, ``topic:1`` or ``topic:1-3``, whose end is not among them."""
    parts = _RULE.fullmatch(text)
    if parts is None:
        raise CommandError(f"Invalid rule specification: {text}")
    topics = _pattern(parts[1] or _ANY_TOPIC)
    if parts[2]:
        numbers = range(int(parts[2]), int(parts[2]) + 1)
    else:
        numbers = range(int(parts[3] or 0), int(parts[4]) if parts[4] else 1 << 31)
    return lambda at: topics.fullmatch(at.topic) is not None and at.partition in numbers


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text.strip().replace(",", "|").replace(" ", ""))
    except re.error as error:
        raise CommandError(f"{text} is an invalid regex: {error}") from None
