"""``pybroker explain topic``."""

import time
from collections.abc import Iterator

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ..exit_codes import DONE, UNHEALTHY
from ..output.columns import duration_text
from ..verb import Call, Verb
from .labelled_lines import finding_lines, labelled, text_width
from .shapes import TopicExplanation, TopicGroup, WritingProducer
from .topic_reading import topic_evidence
from .topic_rules import explained_topic, layout_text

__all__ = ["TOPIC"]

_SHOWN = 10
"""Producers and groups that people see; JSON has all."""


def _arguments(parser: CommandParser) -> None:
    parser.add_argument("topic", metavar="TOPIC", help="a topic")


def _run(call: Call) -> int:
    view = explained_topic(topic_evidence(call.cluster, call.options.topic))
    call.output.documents([view], _lines, name=lambda each: each.topic)
    return DONE if view.is_healthy else UNHEALTHY


def _lines(view: TopicExplanation) -> Iterator[str]:
    width = text_width()
    yield f"{printable(view.topic)} {view.text}"
    yield from labelled("layout", layout_text(view), width)
    if view.kept is not None:
        yield from labelled("records", view.kept, width)
    for setting in view.settings:
        yield from labelled("setting", f"{setting.name}={setting.value or ''} ({setting.source})", width)
    yield from finding_lines(view.findings, width)
    yield from _some([_producer_text(each) for each in view.producers], "writer", width)
    yield from _some([_group_text(each) for each in view.groups], "reader", width)
    for text in view.not_told:
        yield from labelled("not told", text, width)


def _some(texts: list[str], label: str, width: int) -> Iterator[str]:
    for text in texts[:_SHOWN]:
        yield from labelled(label, text, width)
    if len(texts) > _SHOWN:
        yield from labelled(label, f"and {len(texts) - _SHOWN:,} more (-o json)", width)


def _producer_text(producer: WritingProducer) -> str:
    name = "" if producer.transactional_id is None else f" ({producer.transactional_id})"
    count = len(producer.partitions)
    last = ""
    if producer.last_written_ms is not None:
        last = f", last {duration_text(max(0.0, time.time() - producer.last_written_ms / 1000))} ago"
    is_open = f", transaction open in {len(producer.open_partitions):,}" if producer.open_partitions else ""
    return f"producer id {producer.producer_id}{name}: {count:,} partition{'' if count == 1 else 's'}{last}{is_open}"


def _group_text(group: TopicGroup) -> str:
    lag = "no offsets" if group.lag is None else f"lag {group.lag:,}"
    return f"{group.group}: {group.state}, {group.members:,} member{'' if group.members == 1 else 's'}, {lag}"


TOPIC = Verb(
    "topic",
    "say whether a topic takes writes, what its brokers lack, which settings act on it, and who uses it",
    _arguments,
    _run,
    row=TopicExplanation,
)
