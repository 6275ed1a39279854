"""``pybroker groups timeline``: the last rebalances of a group with reason and culprit, as its pybroker knows them."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...views.groups import TimelineEvent
from ..connecting.v1_reader import V1Reader, add_v1_options, v1_reader
from ..exit_codes import DONE
from ..output.columns import Column, duration_text
from ..verb import Call, Verb
from .shapes import GroupTimeline

__all__ = ["TIMELINE", "timeline_of"]

_COLUMNS = (
    Column("TIME (UTC)", lambda row: _time(row.time_ms)),
    Column("GENERATION", lambda row: str(row.generation)),
    Column("WHAT", lambda row: row.text if row.times == 1 else f"{row.text} ({row.times} times)"),
    Column("CLIENT", lambda row: row.client_id),
    Column("HOST", lambda row: row.host),
    Column("TOOK", lambda row: None if row.duration_ms is None else duration_text(row.duration_ms / 1000)),
    Column("WAITED FOR", lambda row: row.waited_for if row.waited_ms else None),
    Column("OUTCOME", lambda row: row.outcome, is_wide=True),
    Column("MEMBERS", lambda row: row.members, is_wide=True),
)


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("group", metavar="GROUP", help="name of a group")
    add_v1_options(parser)


def _run(call: Call) -> int:
    reader = v1_reader(call.options)
    if reader is None:
        raise CommandError(
            "Kafka's protocol does not tell the history of a group; give --v1 URL, the HTTP address of a pybroker",
            BAD_INPUT,
        )
    timeline = timeline_of(reader, call.options.group)
    call.output.rows(timeline.events, _COLUMNS, name=lambda row: row.text)
    if not timeline.events:
        call.output.say("nothing has happened since the broker coordinates the group")
    return DONE


def timeline_of(reader: V1Reader, group: str) -> GroupTimeline:
    """The last changes of a group. Raises CommandError."""
    document = reader.document("groups", group, "timeline")
    source = document.get("source")
    return GroupTimeline(
        group=group,
        broker_id=source.get("broker_id") if isinstance(source, dict) else None,
        events=tuple(_events(document.get("events", ()))),
    )


def _events(rows: Iterable[Mapping[str, Any]]) -> Iterable[TimelineEvent]:
    """The events; a field that the broker does not know is null."""
    names = [field.name for field in fields(TimelineEvent)]
    for row in rows:
        values: dict[str, Any] = {name: row.get(name) for name in names}
        yield TimelineEvent(**values)


def _time(time_ms: int) -> str:
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%Y-%m-%d %H:%M:%S}"


TIMELINE = Verb("timeline", "show the last rebalances of a group (needs --v1)", _arguments, _run, row=TimelineEvent)
