"""``kafka-console-consumer``: prints the records of a topic (Kafka: ConsoleConsumer).

**Limits.** Without a group it reads the partitions that the topic has when it begins.
"""

import argparse
import re
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ..consume.group_reading import read_as_member
from ..consume.places import Place, starts_of
from .client_properties import client_of, given_properties, pairs_of
from .console_topic import partitions_on_demand
from .line_printing import IdleError, LinePrinting, WatchedReader
from .record_formatters import DEFAULT_FORMATTER, formatter_of
from .record_lines import PropertyError
from .script_cluster import CLUSTER_ERRORS
from .script_parser import ScriptParser, UsageError

__all__ = ["console_consumer"]

_ABOUT = "This tool helps to read data from Kafka topics and outputs it to standard output."
_REFUSED = ("interceptor.classes", "key.deserializer", "value.deserializer", "group.protocol", "group.instance.id")
_RESETS = {"earliest": Place("start"), "latest": Place("end")}
_PAUSE_S = 0.2
_OFFSET = re.compile(r"\d{1,18}")


def console_consumer(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        place = _checked(options)
        given = given_properties(options.consumer_config, _properties(options), _REFUSED)
        group = _group(options, given)
        formatting = {} if options.formatter_config is None else given_properties(options.formatter_config, {}, ())
        lines = formatter_of(options.formatter, formatting | _formatting(options))
        reset = _reset(options, given)
    except UsageError as error:
        return parser.refuse(error)
    except (CommandError, PropertyError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    printing = LinePrinting(lines, options.max_messages, options.timeout_ms, skips=options.skip_message_on_error)
    try:
        with client_of(options.bootstrap_server, given, "console-consumer") as cluster:
            _read(cluster, options, printing, (reset if place is None else place, reset), group, given)
    except IdleError:
        pass  # Kafka's script exits with 0
    except (PropertyError, *CLUSTER_ERRORS) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        sys.stderr.write(f"Processed a total of {printing.count} messages\n")
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-console-consumer", _ABOUT)
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The servers to connect to.")
    add("--topic", metavar="TOPIC", help="The topic to consume on.")
    add("--include", "--whitelist", metavar="PATTERN", help="Instead: the topics that match when reading begins.")
    add("--partition", metavar="N", type=int, help="The partition to consume from.")
    add("--offset", metavar="OFFSET", help="With a partition: earliest, latest or a number (latest).")
    add("--from-beginning", action="store_true", help="Begin with the earliest message, not with the next one.")
    add("--max-messages", metavar="N", type=int, default=-1, help="Exit after so many messages.")
    add("--timeout-ms", metavar="MS", type=int, default=-1, help="Exit when no message came for so long.")
    add("--skip-message-on-error", action="store_true", help="Pass over messages that cannot be printed.")
    add("--isolation-level", metavar="LEVEL", help="read_committed or read_uncommitted (read_uncommitted).")
    add("--group", metavar="GROUP", help="The consumer group to read as.")
    add("--formatter", metavar="CLASS", default=DEFAULT_FORMATTER, help="A class of Kafka; others are not there.")
    add("--property", metavar="NAME=VALUE", action="append", default=[], help="A property of the formatter.")
    add("--formatter-config", metavar="FILE", type=Path, help="A file with properties of the formatter.")
    add("--key-deserializer", metavar="CLASS", help="A deserializer of strings, shorts, integers or longs.")
    add("--value-deserializer", metavar="CLASS", help="A deserializer of strings, shorts, integers or longs.")
    add("--consumer-property", metavar="NAME=VALUE", action="append", default=[], help="A property of the consumer.")
    add("--consumer.config", dest="consumer_config", metavar="FILE", type=Path, help="Properties of the consumer.")
    return parser


def _checked(options: argparse.Namespace) -> Place | None:
    """The place of ``--offset``. Raises UsageError, as Kafka checks the options."""
    if (options.topic is None) == (options.include is None):
        raise UsageError("Exactly one of --include/--topic is required. ")
    if options.partition is None and options.offset is not None:
        raise UsageError("The partition is required when offset is specified.")
    if options.offset is not None and options.from_beginning:
        raise UsageError("Options from-beginning and offset cannot be specified together.")
    text = options.offset
    if text is None or text.lower() in _RESETS:
        place = None if text is None else _RESETS[text.lower()]
    elif _OFFSET.fullmatch(text):
        place = Place("offset", int(text))
    else:
        raise UsageError(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a "
            "non-negative long."
        )
    if options.bootstrap_server is None:
        raise UsageError('Missing required argument "[bootstrap-server]"')
    return place


def _properties(options: argparse.Namespace) -> dict[str, str]:
    given = pairs_of(options.consumer_property)
    if options.isolation_level is not None:
        given["isolation.level"] = options.isolation_level
    return given


def _formatting(options: argparse.Namespace) -> dict[str, str]:
    given = pairs_of(options.property)
    for name in ("key", "value"):
        deserializer = getattr(options, f"{name}_deserializer")
        if deserializer is not None:
            given[f"{name}.deserializer"] = deserializer
    return given


def _group(options: argparse.Namespace, given: Mapping[str, str]) -> str | None:
    names = dict.fromkeys(name for name in (options.group, given.get("group.id")) if name is not None)
    if len(names) > 1:
        detected = ", ".join(f"'{name}'" for name in names)
        raise UsageError(
            "The group ids provided in different places (directly using '--group', via '--consumer-property', or via "
            f"'--consumer.config') do not match. Detected group ids: {detected}"
        )
    group = next(iter(names), None)
    if group is not None and options.partition is not None:
        raise UsageError("Options group and partition cannot be specified together.")
    return group


def _reset(options: argparse.Namespace, given: Mapping[str, str]) -> Place:
    """Where reading begins in a partition without a committed offset. Raises CommandError."""
    name = given.get("auto.offset.reset")
    if options.from_beginning:
        if name not in (None, "earliest"):
            raise CommandError(
                f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={name}', "
                "please remove one option"
            )
        return _RESETS["earliest"]
    if name is not None and name not in _RESETS:
        raise CommandError(f"auto.offset.reset={name} is not available; it must be earliest or latest")
    return _RESETS[name or "latest"]


def _read(
    cluster: AdminCluster,
    options: argparse.Namespace,
    printing: LinePrinting,
    places: tuple[Place, Place],
    group: str | None,
    given: Mapping[str, str],
) -> None:
    wait_ms = options.timeout_ms if options.timeout_ms >= 0 else None
    partitions = _partitions(cluster, options, wait_ms)
    if not partitions:
        raise IdleError

    def reader(committed: dict[TopicPartition, int], others: list[TopicPartition]) -> WatchedReader:
        starts = committed | _starts(cluster, others, *places)
        return WatchedReader(cluster, starts, printing, resets_to_start=places[1] == _RESETS["earliest"])

    if options.max_messages == 0:
        return
    if group is not None:
        commits = given.get("enable.auto.commit", "true") == "true"
        topics = sorted({at.topic for at in partitions})
        read_as_member(cluster, group, topics, printing, reader, commits=commits, commits_starts=True)
        return
    chosen = partitions
    if options.partition is not None:
        chosen = [at for at in partitions if at.partition == options.partition]
        if not chosen:
            raise CommandError(f"there is no partition {options.partition} of {options.topic or options.include}")
    for found in reader({}, chosen).batches():
        printing.take(found)
        if printing.is_full:
            break


def _starts(
    cluster: AdminCluster, partitions: list[TopicPartition], place: Place, reset: Place
) -> dict[TopicPartition, int]:
    """The first offset to read in each partition. ``reset`` decides where the log does not have the offset of a place,
    as in Kafka's consumer.
    """
    if place.kind != "offset":
        return starts_of(cluster, partitions, place)
    firsts, lasts = (starts_of(cluster, partitions, each) for each in _RESETS.values())
    resets = firsts if reset == _RESETS["earliest"] else lasts
    return {at: place.number if firsts[at] <= place.number <= lasts[at] else resets[at] for at in partitions}


def _partitions(cluster: AdminCluster, options: argparse.Namespace, wait_ms: int | None) -> list[TopicPartition]:
    """The partitions of the topic, or of the topics that match; none after so many ms. None: wait on and on."""
    if options.topic is not None:
        numbers = partitions_on_demand(cluster, options.topic, wait_ms)
        return [TopicPartition(options.topic, number) for number in numbers]
    try:
        pattern = re.compile(options.include)
    except re.error as error:
        raise CommandError(f"--include {options.include}: {error}", BAD_INPUT) from None
    began = time.monotonic()
    while True:
        topics = cluster.retried(lambda: cluster.metadata(None)).topics
        found = sorted(
            TopicPartition(topic.name or "", each.partition_index)
            for topic in topics
            if not topic.is_internal and pattern.fullmatch(topic.name or "")
            for each in topic.partitions
        )
        if found or (wait_ms is not None and time.monotonic() - began >= wait_ms / 1000):
            return found
        time.sleep(_PAUSE_S)
