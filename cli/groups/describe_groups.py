"""``pybroker groups describe``."""

from collections.abc import Iterator, Sequence

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ..output.columns import Column
from ..output.table import table
from ..verb import Call, Verb
from .described_groups import DEAD, SHARE, described_group, missing_group
from .each_group import each_group
from .group_offsets import offsets_of
from .group_partitions import group_partitions, lost_records, sum_of_lags
from .number_ranges import ranges
from .shapes import GroupDescription, GroupMember

__all__ = ["DESCRIBE", "assignment_text", "described_with_offsets"]

_MEMBERS = (
    Column("CLIENT", lambda row: row.client_id),
    Column("HOST", lambda row: row.host),
    Column("INSTANCE", lambda row: row.instance_id),
    Column("PARTITIONS", lambda row: assignment_text(row)),
    Column("MEMBER", lambda row: row.member_id),
    Column("SUBSCRIBES TO", lambda row: _subscription(row), is_wide=True),
)
_PARTITIONS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: str(row.partition)),
    Column("OFFSET", lambda row: None if row.committed is None else str(row.committed)),
    Column("END", lambda row: row.problem if row.end_offset is None else str(row.end_offset)),
    Column("LAG", lambda row: row.lag),
    Column("CLIENT", lambda row: row.client_id),
    Column("HOST", lambda row: row.host),
    Column("START", lambda row: None if row.start_offset is None else str(row.start_offset), is_wide=True),
    Column("LEADER", lambda row: None if row.leader is None else str(row.leader), is_wide=True),
    Column("EPOCH", lambda row: None if row.leader_epoch is None else str(row.leader_epoch), is_wide=True),
    Column("MEMBER", lambda row: row.member_id, is_wide=True),
    Column("METADATA", lambda row: row.metadata or None, is_wide=True),
)


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("groups", metavar="GROUP", nargs="+", help="name of a group")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--members", action="store_true", help="show the members only")
    only.add_argument("--offsets", action="store_true", help="show the offsets only")


def _run(call: Call) -> int:
    options, output = call.options, call.output
    views, code = each_group(call, options.groups, lambda name: described_with_offsets(call.cluster, name))
    members = () if options.offsets else output.shown(_MEMBERS)
    partitions = () if options.members else output.shown(_PARTITIONS)
    output.documents(views, lambda view: _lines(view, members, partitions), name=lambda view: view.group)
    return code


def described_with_offsets(cluster: AdminCluster, name: str) -> GroupDescription:
    """A group with its members and partitions. Raises CommandError when it does not exist."""
    group = described_group(cluster, name)
    committed = offsets_of(cluster, group)
    if group.state == DEAD and not committed:
        raise missing_group(cluster, name)
    partitions = group_partitions(cluster, group, committed)
    return GroupDescription(
        group=name,
        state=group.state,
        protocol_type=group.protocol_type,
        protocol=group.protocol,
        group_type=group.group_type,
        coordinator=group.coordinator,
        lag=sum_of_lags(partitions),
        members=group.members,
        partitions=partitions,
    )


def _lines(view: GroupDescription, members: Sequence[Column], partitions: Sequence[Column]) -> Iterator[str]:
    protocol = ", share group" if view.group_type == SHARE else ""
    protocol += f", {printable(view.protocol)}" if view.protocol else ""
    lag = "unknown" if view.lag is None else f"{view.lag:,}"
    lost = sum(map(lost_records, view.partitions))
    if lost:
        lag += f" and {lost:,} records lost unread"
    count = len(view.members)
    yield (
        f"{printable(view.group)}: {view.state}{protocol}, {count} member{'' if count == 1 else 's'}, lag {lag}, "
        f"coordinator broker {view.coordinator}"
    )
    if members and view.members:
        for line in table(view.members, members):
            yield f"  {line}"
    if partitions and view.partitions:
        if members and view.members:
            yield ""
        for line in table(view.partitions, partitions):
            yield f"  {line}"


def _subscription(member: GroupMember) -> tuple[str, ...] | None:
    """The topics of a member, and its pattern as text."""
    return member.topics if member.pattern is None else (*(member.topics or ()), f"pattern {member.pattern}")


def assignment_text(member: GroupMember) -> str | None:
    """The partitions of a member, such as ``orders:0-3,7 payments:1``; None when they are unknown or there are none."""
    return " ".join(f"{part.topic}:{ranges(part.partitions)}" for part in member.assignment or ()) or None


DESCRIBE = Verb("describe", "show the members and offsets of groups", _arguments, _run, row=GroupDescription)
