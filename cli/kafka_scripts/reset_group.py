"""``kafka-consumer-groups --reset-offsets``: plans the new offsets of a group, stores and prints them."""

import argparse
import re
import sys
from collections.abc import Mapping

from ...base.command_parser import CommandError
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.sentinels import EARLIEST, LATEST
from ..groups.described_groups import DEAD, described_group
from ..groups.partition_offsets import Committed, committed_offsets
from ..groups.reset_plan import new_offsets
from ..groups.reset_target import ResetTarget

__all__ = ["reset_group"]

_NUMBERS = re.compile(r"\d{1,9}(,\d{1,9})*")
_WARNING = (
    "WARN: No action will be performed as the --execute option is missing.In a future major release, the default "
    "behavior of this command will be to prompt the user before executing the reset rather than doing a dry run. You "
    "should add the --dry-run option explicitly if you are scripting this command and want to keep the current default "
    "behavior without prompting.\n"
)


def reset_group(cluster: AdminCluster, options: argparse.Namespace, name: str) -> None:
    """Plan and, with ``--execute``, store. Raises KafkaError, CommandError."""
    if not options.execute and not options.dry_run:
        sys.stderr.write(_WARNING)
    group = described_group(cluster, name)
    offsets: dict[TopicPartition, int] = {}
    if group.state in ("Empty", DEAD):
        committed = committed_offsets(cluster, name)
        places = list(committed) if options.all_topics else _places(cluster, options.topic)
        planned, _ = new_offsets(cluster, _target(cluster, options, places, committed), places, committed)
        offsets = {at: offset for at, (offset, _) in sorted(planned.items())}
        if options.execute and offsets:
            cluster.commit(name, offsets)
    else:
        sys.stdout.write(
            f"\nError: Assignments can only be reset if the group '{name}' is inactive, but the current state is "
            f"{group.state}.\n"
        )
    _print(name, offsets, is_export=options.export)


def _print(name: str, offsets: Mapping[TopicPartition, int], *, is_export: bool) -> None:
    if is_export:
        lines = "".join(f"{at.topic},{at.partition},{offset}\n" for at, offset in offsets.items())
        sys.stdout.write(f"{lines}\n")
        return
    sys.stdout.write("\n")  # Kafka 3.9 ends no line of this table
    for row in (("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), *((name, *at, to) for at, to in offsets.items())):
        sys.stdout.write("{:<30} {:<30} {:<10} {:<15}".format(*row))


def _target(
    cluster: AdminCluster,
    options: argparse.Namespace,
    places: list[TopicPartition],
    committed: Mapping[TopicPartition, Committed],
) -> ResetTarget | Mapping[TopicPartition, int]:
    if options.to_earliest:
        return ResetTarget(timestamp=EARLIEST)
    if options.to_latest:
        return ResetTarget(timestamp=LATEST)
    if options.to_current:
        ends = cluster.offsets(dict.fromkeys(places, LATEST))
        return {at: committed[at].offset if at in committed else ends[at] for at in places}
    return ResetTarget(offset=options.to_offset, shift=options.shift_by)


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
