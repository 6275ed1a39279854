"""``kafka-consumer-groups --reset-offsets``: plans the new offsets of groups, stores and prints them."""

import argparse
import re
import sys
from collections.abc import Iterable, Mapping

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import Committed, committed_offsets
from ...protocol.sentinels import EARLIEST, LATEST
from ..groups.described_groups import DEAD
from ..groups.reset_plan import new_offsets
from ..groups.reset_target import ResetTarget
from .described_consumers import consumer_group
from .json_input import read_text
from .reset_moments import moment_before, moment_in
from .script_parser import number_given

__all__ = ["reset_groups"]

_NUMBERS = re.compile(r"\d{1,9}(,\d{1,9})*")
_NUMBER = re.compile(r"\d{1,18}")
_Offsets = Mapping[TopicPartition, int]


def reset_groups(cluster: AdminCluster, options: argparse.Namespace, names: list[str]) -> None:
    """Plan and, with ``--execute``, store. Raises KafkaError, CommandError."""
    given = None if options.from_file is None else _read_offsets(options.from_file, names)
    planned = {name: _reset(cluster, options, name, None if given is None else given[name]) for name in names}
    rows = [(name, at, offset) for name, offsets in planned.items() for at, offset in offsets.items()]
    if options.export:
        with_group = options.all_groups or len(names) > 1
        lines = [f"{f'{name},' if with_group else ''}{at.topic},{at.partition},{offset}\n" for name, at, offset in rows]
        sys.stdout.write(f"{''.join(lines)}\n")
        return
    sys.stdout.write("\n")  # Kafka 3.9 ends no line of this table
    for row in (("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), *((name, *at, offset) for name, at, offset in rows)):
        sys.stdout.write("{:<30} {:<30} {:<10} {:<15}".format(*row))


def _reset(cluster: AdminCluster, options: argparse.Namespace, name: str, given: _Offsets | None) -> _Offsets:
    """The new offsets of a group, which are stored with ``--execute``; none when the group is in use."""
    group = consumer_group(cluster, name)
    if group.state not in ("Empty", DEAD):
        sys.stdout.write(
            f"\nError: Assignments can only be reset if the group '{name}' is inactive, but the current state is "
            f"{group.state}.\n"
        )
        return {}
    committed = committed_offsets(cluster, name)
    if given is not None:
        places = list(given)
        cluster.check_partitions(places)
    else:
        places = list(committed) if options.all_topics else _places(cluster, options.topic)
    target = _target(cluster, options, places, committed) if given is None else given
    planned, _ = new_offsets(cluster, target, places, committed)
    offsets = {at: offset for at, (offset, _) in sorted(planned.items())}
    if options.to_datetime is not None or options.by_duration is not None:
        for at in (at for at, (_, note) in sorted(planned.items()) if note is not None):
            place = f"Partition {at.partition} from topic {at.topic}"
            sys.stdout.write(f"\nWarn: {place} is empty. Falling back to latest known offset.\n")
    if options.execute and offsets:
        cluster.commit(name, offsets)
    return offsets


def _target(
    cluster: AdminCluster,
    options: argparse.Namespace,
    places: list[TopicPartition],
    committed: Mapping[TopicPartition, Committed],
) -> ResetTarget | _Offsets:
    if options.to_earliest:
        return ResetTarget(timestamp=EARLIEST)
    if options.to_latest:
        return ResetTarget(timestamp=LATEST)
    if options.to_current:
        ends = cluster.offsets(dict.fromkeys(places, LATEST))
        return {at: committed[at].offset if at in committed else ends[at] for at in places}
    if options.to_datetime is not None:
        return ResetTarget(timestamp=moment_in(options.to_datetime))
    if options.by_duration is not None:
        return ResetTarget(timestamp=moment_before(options.by_duration))
    if options.shift_by is not None:
        return ResetTarget(shift=number_given(options, "shift-by"))
    return ResetTarget(offset=number_given(options, "to-offset"))


def _places(cluster: AdminCluster, texts: list[str]) -> list[TopicPartition]:
    """The partitions of ``topic`` and ``topic:0,1``."""
    found: list[TopicPartition] = []
    for text in texts:
        topic, colon, numbers = text.partition(":")
        if colon and not _NUMBERS.fullmatch(numbers):
            raise CommandError(f"--topic {text} must be TOPIC or TOPIC:0,1")
        there = cluster.partitions_of_all([topic])
        chosen = {int(number) for number in numbers.split(",")} if colon else {at.partition for at in there}
        cluster.check_partitions(TopicPartition(topic, number) for number in chosen)
        found += [at for at in there if at.partition in chosen]
    return list(dict.fromkeys(found))


def _read_offsets(path: str, names: list[str]) -> dict[str, dict[TopicPartition, int]]:
    """The offsets of each group in a file of lines ``topic,partition,offset``; several groups: ``group,topic,…``."""
    found: dict[str, dict[TopicPartition, int]] = {name: {} for name in names}
    for number, line in enumerate(_lines(read_text(path)), start=1):
        cells = [cell.strip() for cell in line.split(",")]
        group, *rest = cells if len(names) > 1 else [names[0], *cells]
        if len(rest) != 3 or not all(_NUMBER.fullmatch(cell) for cell in rest[1:]):
            raise CommandError(f"{path}, line {number}: must be [group,]topic,partition,offset", BAD_INPUT)
        if group in found:
            found[group][TopicPartition(rest[0], int(rest[1]))] = int(rest[2])
    return found


def _lines(text: str) -> Iterable[str]:
    return (line for line in text.splitlines() if line.strip())
