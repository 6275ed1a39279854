"""``pybroker groups reset`` and ``import``: sets the offsets of a group that has no members; shows a plan first."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...base.command_parser import BAD_INPUT, FAILED, CommandError, CommandParser
from ...base.topic_partition import TopicPartition
from ...client.committed_offsets import Committed
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ..output.columns import Column
from ..reading.moments import MOMENTS
from ..results import report
from ..verb import Call, Verb
from .described_groups import DEAD, SHARE, DescribedGroup, described_group, missing_group
from .group_offsets import offsets_of, set_share_offsets
from .offsets_file import read_offsets
from .partition_offsets import leaders_of
from .reset_plan import new_offsets, planned_changes
from .reset_target import ResetTarget, reset_target, selected_partitions, topics_in
from .shapes import OffsetChange

__all__ = ["IMPORT", "RESET", "members_text"]

_COLUMNS = (
    Column("TOPIC", lambda row: row.topic),
    Column("PARTITION", lambda row: str(row.partition)),
    Column("OLD", lambda row: None if row.old_offset is None else str(row.old_offset)),
    Column("NEW", lambda row: str(row.new_offset)),
    Column("CHANGE", lambda row: _change_text(row)),
    Column("NOTE", lambda row: row.note),
)
_MOST_NAMED = 3


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="name of a group without members, or of a new one")
    parser.add_argument(
        "--to",
        metavar="WHERE",
        required=True,
        help=f"earliest; latest; {MOMENTS}; "
        "an offset; +N or -N records from the committed offset; or a file of topic,partition,offset",
    )
    parser.add_argument(
        "--topics",
        metavar="TOPICS",
        help="which partitions, as orders:0-3,payments; default: all with a committed offset",
    )
    parser.add_argument("--execute", action="store_true", help="store the new offsets; without it the plan is shown")


def _import_arguments(parser: CommandParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="name of a group without members, or of a new one")
    parser.add_argument("file", metavar="FILE", type=Path, help="lines of topic,partition,offset, as export prints")
    parser.add_argument("--execute", action="store_true", help="store the offsets; without it the plan is shown")


def _reset(call: Call) -> int:
    options = call.options
    target = reset_target(options.to)
    if target is None:
        if not Path(options.to).is_file():
            raise CommandError(f"--to {options.to}: neither earliest, latest, a time, an offset nor a file", BAD_INPUT)
        return _set_offsets(call, read_offsets(Path(options.to)), options.topics)
    return _set_offsets(call, target, options.topics)


def _import(call: Call) -> int:
    return _set_offsets(call, read_offsets(call.options.file), None)


def _set_offsets(call: Call, target: ResetTarget | Mapping[TopicPartition, int], topics: str | None) -> int:
    options, cluster = call.options, call.cluster
    group = described_group(cluster, options.group)
    committed = offsets_of(cluster, group)
    places = _places(call, target, topics, committed)
    if not places:
        if group.state == DEAD:
            raise missing_group(cluster, options.group)
        raise CommandError(f"group {options.group} has no offsets; say by --topics which partitions to set", BAD_INPUT)
    executes = options.execute and not options.dry_run
    if executes and group.members:
        raise CommandError(f"{members_text(group)}: offsets can be set only when all of them are stopped", FAILED)
    offsets, limits = new_offsets(cluster, target, places, committed)
    changes = planned_changes(options.group, offsets, limits, committed, is_dry_run=not executes)
    failures = _stored(call, group, changes) if executes else {}
    done = [each for each in changes if TopicPartition(each.topic, each.partition) not in failures]
    call.output.rows(done, _COLUMNS, name=lambda row: f"{row.topic}-{row.partition}")
    if not executes:
        lacking = "leave out --dry-run" if options.execute else "give --execute"
        call.output.say(f"This is a plan; {lacking} to store it.")
        if group.members:
            call.output.say(f"{members_text(group)}: stop them first")
    return report(call.output, failures.values())


def _places(
    call: Call,
    target: ResetTarget | Mapping[TopicPartition, int],
    topics: str | None,
    committed: Mapping[TopicPartition, Committed],
) -> list[TopicPartition]:
    """The partitions to set. Raises CommandError for a topic or partition that does not exist."""
    if topics is not None:
        chosen = selected_partitions(topics, leaders_of(call.cluster, topics_in(topics)))
        return chosen if isinstance(target, ResetTarget) else [at for at in chosen if at in target]
    return sorted(committed if isinstance(target, ResetTarget) else target)


def _stored(call: Call, found: DescribedGroup, changes: Sequence[OffsetChange]) -> dict[TopicPartition, KafkaError]:
    """Store the offsets; returns why some were refused. Raises KafkaError."""
    group = call.options.group
    if found.group_type == SHARE:
        return set_share_offsets(call.cluster, group, changes)
    from ...protocol.messages.offset_commit import (  # for the verbs that store offsets only
        OffsetCommitRequest,
        OffsetCommitRequestPartition,
        OffsetCommitRequestTopic,
    )

    topics: dict[str, list[OffsetCommitRequestPartition]] = defaultdict(list)
    for each in changes:
        topics[each.topic].append(
            OffsetCommitRequestPartition(partition_index=each.partition, committed_offset=each.new_offset)
        )
    request = OffsetCommitRequest(
        group_id=group,
        topics=[OffsetCommitRequestTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
    )
    answer = call.cluster.retried(lambda: call.cluster.ask_coordinator(group, request))
    return {
        TopicPartition(topic.name, each.partition_index): error_for(
            each.error_code, f"{topic.name}-{each.partition_index}: {_refused(each.error_code)}"
        )
        for topic in answer.topics
        for each in topic.partitions
        if each.error_code
    }


def _refused(code: int) -> str:
    if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS, ErrorCode.ILLEGAL_GENERATION):
        return "a member has joined the group meanwhile; stop its consumers first"
    return str(error_for(code))


def members_text(group: DescribedGroup) -> str:
    """The group and how many members it has, with the clients of the first."""
    named = ", ".join(f"{each.client_id} at {each.host}" for each in group.members[:_MOST_NAMED])
    more = ", …" if len(group.members) > _MOST_NAMED else ""
    count = len(group.members)
    return f"group {group.group} has {count} member{'' if count == 1 else 's'} ({named}{more})"


def _change_text(row: OffsetChange) -> str:
    if row.skipped:
        return f"{row.skipped:,} skipped"
    if row.read_again:
        return f"{row.read_again:,} read again"
    if row.old_offset is None:
        return "new"
    return "none" if row.old_offset == row.new_offset else "moved"


RESET = Verb(
    "reset", "set the offsets of a group without members; shows a plan first", _arguments, _reset, True, OffsetChange
)
IMPORT = Verb("import", "set the offsets of a group to those in a file", _import_arguments, _import, True, OffsetChange)
