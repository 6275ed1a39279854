"""``pybroker groups export``: the offsets of a group as lines ``topic,partition,offset``."""

from ...base.command_parser import CommandError, CommandParser
from ..exit_codes import DONE, NOT_THERE
from ..verb import Call, Verb
from .described_groups import DEAD, described_group, missing_group
from .group_offsets import offsets_of
from .shapes import CommittedOffset

__all__ = ["EXPORT"]


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="name of a group")


def _run(call: Call) -> int:
    group = call.options.group
    found = described_group(call.cluster, group)
    committed = offsets_of(call.cluster, found)
    if not committed:
        if found.state == DEAD:
            raise missing_group(call.cluster, group)
        raise CommandError(f"group {group} has no offsets", NOT_THERE)
    rows = [
        CommittedOffset(topic=at.topic, partition=at.partition, offset=each.offset) for at, each in committed.items()
    ]
    call.output.lines(
        rows,
        lambda row: f"{row.topic},{row.partition},{row.offset}",
        name=lambda row: f"{row.topic}-{row.partition}",
    )
    return DONE


EXPORT = Verb("export", "print the offsets of a group as topic,partition,offset", _arguments, _run, row=CommittedOffset)
