"""``pybroker groups list``."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from ...base.command_parser import CommandParser
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.committed_offsets import Committed
from ...protocol.errors import KafkaError
from ...protocol.sentinels import EARLIEST, LATEST
from ..output.columns import Column
from ..results import report
from ..verb import Call, Verb
from ..visible_topics import none_of
from .described_groups import DescribedGroup, described_by, listed_groups
from .group_offsets import offsets_by
from .group_partitions import lag_in
from .partition_offsets import offsets_at
from .shapes import GroupListed

__all__ = ["LIST"]

_COLUMNS = (
    Column("GROUP", lambda row: row.group),
    Column("STATE", lambda row: row.state),
    Column("TYPE", lambda row: row.protocol_type or None),
    Column("PROTOCOL", lambda row: row.group_type, is_wide=True),
    Column("COORDINATOR", lambda row: str(row.coordinator)),
)
_LAG_COLUMNS = (Column("MEMBERS", lambda row: row.members), Column("LAG", lambda row: row.lag))


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("patterns", metavar="PATTERN", nargs="*", help="names, with * and ?; default: all")
    parser.add_argument("--state", metavar="STATE", help="only groups in this state, such as Stable or Empty")
    parser.add_argument("--lag", action="store_true", help="also how many members they have, and their lag in records")


def _run(call: Call) -> int:
    options = call.options
    rows, failures = listed_groups(call.cluster)
    if options.patterns:
        rows = [row for row in rows if any(fnmatchcase(row.group, pattern) for pattern in options.patterns)]
    if options.lag or any(row.state is None for row in rows):  # brokers before 2.6 list no states
        rows, refused = _with_members(call.cluster, rows)
        failures += refused
    if options.state is not None:
        rows = [row for row in rows if (row.state or "").lower() == options.state.lower()]
    if options.lag:
        rows = _with_lag(call.cluster, rows)
    call.output.rows(rows, (*_COLUMNS, *(_LAG_COLUMNS if options.lag else ())), name=lambda row: row.group)
    if not rows and not failures:
        is_filtered = options.patterns or options.state
        call.output.say("no group matches" if is_filtered else none_of(call.cluster, "groups"))
    return report(call.output, failures)


def _by_coordinator(rows: Iterable[GroupListed]) -> Mapping[int, list[GroupListed]]:
    found: dict[int, list[GroupListed]] = defaultdict(list)
    for row in rows:
        found[row.coordinator].append(row)
    return found


def _with_members(cluster: AdminCluster, rows: list[GroupListed]) -> tuple[list[GroupListed], list[KafkaError]]:
    """The rows with the number of members, and with states where the broker listed none; why others have no number."""
    described: dict[str, DescribedGroup] = {}
    failures: list[KafkaError] = []
    for coordinator, rows_there in _by_coordinator(rows).items():
        found, refused = described_by(cluster, coordinator, [row.group for row in rows_there])
        described |= found
        failures += refused
    return [
        replace(row, members=len(group.members), state=row.state or group.state)
        if (group := described.get(row.group)) is not None
        else row
        for row in rows
    ], failures


def _with_lag(cluster: AdminCluster, rows: list[GroupListed]) -> list[GroupListed]:
    committed: dict[str, dict[TopicPartition, Committed]] = {}
    for coordinator, rows_there in _by_coordinator(rows).items():
        committed |= offsets_by(cluster, coordinator, {row.group: row.group_type for row in rows_there})
    places = {at for offsets in committed.values() for at in offsets}
    starts, _ = offsets_at(cluster, dict.fromkeys(places, EARLIEST))
    ends, _ = offsets_at(cluster, dict.fromkeys(places, LATEST))

    def lag(row: GroupListed) -> int | None:
        offsets = committed[row.group].items()
        lags = [lag_in(row.group_type, each, starts.get(at), ends.get(at)) for at, each in offsets]
        known = [each for each in lags if each is not None]
        return sum(known) if known else None

    return [replace(row, lag=lag(row)) for row in rows]


LIST = Verb("list", "list groups", _arguments, _run, row=GroupListed)
