"""``pybroker groups export``: the offsets of a group as lines ``topic,partition,offset``."""

from ...base.command_parser import CommandParser
from ...client.committed_offsets import committed_offsets
from ..exit_codes import DONE
from ..verb import Call, Verb
from .described_groups import missing_group
from .shapes import CommittedOffset

__all__ = ["EXPORT"]


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="name of a group")


def _run(call: Call) -> int:
    group = call.options.group
    committed = committed_offsets(call.cluster, group)
    if not committed:
        raise missing_group(call.cluster, group)
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
