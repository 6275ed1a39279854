"""The table of ``kafka-consumer-groups --describe --members``."""

import sys
from collections.abc import Iterable

from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import committed_offsets
from ..groups.described_groups import DEAD
from ..groups.shapes import GroupMember
from .described_consumers import consumer_group, tell_state

__all__ = ["describe_members"]

_TITLES = ("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
_LEAST_WIDTHS = (15, 15, 17, 15, 15, 15)
_INSTANCE = _TITLES.index("GROUP-INSTANCE-ID")


def describe_members(cluster: AdminCluster, name: str, *, is_verbose: bool) -> None:
    """Print a line for each member of a group; ``is_verbose``: with its partitions."""
    group = consumer_group(cluster, name)
    tell_state(group, is_there=group.state != DEAD or bool(committed_offsets(cluster, name)))
    rows = [(_row(name, member), _partitions(member)) for member in group.members]
    columns = [
        number
        for number in range(len(_TITLES))
        if number != _INSTANCE or any(member.instance_id for member in group.members)
    ]
    widths = [max(least, *(len(row[number]) for row, _ in rows), 0) for number, least in enumerate(_LEAST_WIDTHS)]
    sys.stdout.write("\n")
    for cells, partitions in ((_TITLES, "ASSIGNMENT"), *rows):
        line = "".join(f"{cells[number]:<{widths[number]}} " for number in columns)
        sys.stdout.write(f"{line}{partitions if is_verbose else ''}\n")


def _row(group: str, member: GroupMember) -> tuple[str, ...]:
    count = sum(len(part.partitions) for part in member.assignment or ())
    host = f"/{member.host.removeprefix('/')}"
    cells = (group, member.member_id, member.instance_id or "", host, member.client_id, str(count))
    return tuple(map(printable, cells))


def _partitions(member: GroupMember) -> str:
    """The numbers of the partitions in brackets, for each topic."""
    return ", ".join(sorted(f"({_joined(part.partitions)})" for part in member.assignment or ())) or "-"


def _joined(numbers: Iterable[int]) -> str:
    return ",".join(sorted(map(str, numbers)))  # Kafka sorts the texts
