"""The tables of ``kafka-consumer-groups --describe``."""

import sys
from dataclasses import replace

from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import committed_offsets
from ..groups.described_groups import DEAD, SHARE, DescribedGroup, described_group
from ..groups.group_partitions import group_partitions
from ..groups.shapes import GroupPartition

__all__ = ["consumer_group", "describe_offsets", "describe_state", "tell_state"]

_EMPTY = "Empty"
_REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
_OFFSETS = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
_LEAST_WIDTH = 15


def consumer_group(cluster: AdminCluster, name: str) -> DescribedGroup:
    """A group of consumers; a share group is none, so that it does not exist here. Raises KafkaError."""
    group = described_group(cluster, name)
    return replace(group, state=DEAD, members=()) if group.group_type == SHARE else group


def describe_offsets(cluster: AdminCluster, name: str) -> None:
    """Print the offsets of a group."""
    group = consumer_group(cluster, name)
    committed = committed_offsets(cluster, name)
    if not tell_state(group, is_there=bool(committed)):
        return
    rows = [_row(each) for each in group_partitions(cluster, group, committed)]
    if not rows:
        return
    widths = [max(_LEAST_WIDTH, *(len(row[column]) for row in rows)) for column in range(len(_OFFSETS) - 1)]
    widths[2:6] = [10, 15, 15, 15]
    for row in (_OFFSETS, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
        sys.stdout.write("\n" + " ".join([*cells, row[-1]]))


def describe_state(cluster: AdminCluster, name: str) -> None:
    """Print the coordinator, the state and the number of members of a group."""
    group = consumer_group(cluster, name)
    if not tell_state(group, is_there=group.state != DEAD or bool(committed_offsets(cluster, name))):
        return
    (host, port) = next(
        (each.host, each.port) for each in cluster.metadata().brokers if each.node_id == group.coordinator
    )
    coordinator = f"{host}:{port}  ({group.coordinator})"
    width = max(25, len(coordinator))
    for row in (
        ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"),
        (name, coordinator, group.protocol or "", group.state, str(len(group.members))),
    ):
        sys.stdout.write(f"\n{row[0]:<25} {row[1]:<{width}} {row[2]:<20} {row[3]:<15} {row[4]}")
    sys.stdout.write("\n")


def tell_state(group: DescribedGroup, *, is_there: bool) -> bool:
    """Say what is special about the group; returns whether it exists."""
    if group.state == DEAD and not is_there:
        sys.stdout.write(f"\nError: Consumer group '{group.group}' does not exist.\n")
        return False
    if group.state == _EMPTY:
        sys.stderr.write(f"\nConsumer group '{group.group}' has no active members.\n")
    elif group.state in _REBALANCING:
        sys.stderr.write(f"\nWarning: Consumer group '{group.group}' is rebalancing.\n")
    return True


def _row(each: GroupPartition) -> tuple[str, ...]:
    lag = None  # Kafka's script also counts deleted records
    if each.committed is not None and each.end_offset is not None:
        lag = each.end_offset - each.committed
    numbers = (each.committed, each.end_offset, lag)
    reader = (each.member_id, None if each.host is None else f"/{each.host.removeprefix('/')}", each.client_id)
    return (each.group, each.topic, str(each.partition), *map(_cell, numbers), *map(_cell, reader))


def _cell(value: int | str | None) -> str:
    return "-" if value is None else printable(str(value))
