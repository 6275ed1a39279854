"""``pybroker explain group``."""

from collections.abc import Iterator

from ...base.command_parser import CommandParser
from ...base.printable import printable
from ...protocol.errors import ErrorCode, KafkaError
from ..exit_codes import DONE, UNHEALTHY
from ..output.columns import duration_text
from ..verb import Call, Verb
from .coordinator_rules import without_coordinator
from .evidence import REBALANCING, Evidence, gathered
from .labelled_lines import finding_lines, labelled, text_width
from .reading_rules import reading_findings
from .rebalance_rules import rebalance_findings
from .shapes import Finding, GroupExplanation, LagExplanation
from .surrounding_rules import surrounding_findings
from .watch_time import add_group_arguments

__all__ = ["GROUP", "explanation_lines", "explanation_of"]

_NO_COORDINATOR = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
_WATCH_S = 3.0


def _arguments(parser: CommandParser) -> None:
    add_group_arguments(parser, _WATCH_S)


def _run(call: Call) -> int:
    group = call.options.group
    try:
        view = explanation_of(group, gathered(call, group))
    except KafkaError as error:
        if error.code not in _NO_COORDINATOR:
            raise
        view = without_coordinator(call.cluster, group, error)
    call.output.documents([view], explanation_lines, name=lambda each: each.group)
    return DONE if view.is_healthy else UNHEALTHY


def explanation_of(group: str, evidence: Evidence) -> GroupExplanation:
    """The verdict and its reasons."""
    found = [*rebalance_findings(evidence), *surrounding_findings(evidence), *reading_findings(evidence)]
    found.sort(key=lambda finding: not finding.is_trouble)
    last = evidence.last.group
    return GroupExplanation(
        group=group,
        source=evidence.source,
        is_healthy=not any(finding.is_trouble for finding in found),
        text=_verdict(evidence, found),
        state=last.state,
        coordinator=last.coordinator,
        members=len(last.members),
        lag=evidence.lag,
        lag_seconds=evidence.lag_s,
        watched_seconds=round(evidence.watched_s, 1),
        findings=tuple(found),
    )


def _verdict(evidence: Evidence, found: list[Finding]) -> str:
    group = evidence.last.group
    trouble = [finding for finding in found if finding.is_trouble]
    place = f"coordinator broker {group.coordinator}"
    if trouble and group.state in REBALANCING:
        return f"is STUCK in {group.state}, {place}"
    if group.state in REBALANCING:
        return f"is in {group.state}, {place}"
    if not group.members:
        return f"has NO MEMBERS, {place}"
    protocol = "" if group.protocol is None else f" ({group.protocol})"
    count = len(group.members)
    state = f"{group.state} with {count} member{'' if count == 1 else 's'}{protocol}, {place}"
    return f"is IN TROUBLE: {state}" if trouble else f"is fine: {state}"


def explanation_lines(view: GroupExplanation | LagExplanation) -> Iterator[str]:
    """The text for people: the verdict, then each finding with its culprit and what to try."""
    width = text_width()
    yield f"{printable(view.group)} {printable(view.text)} (source: {view.source})"
    if view.lag is not None:
        age = "" if not view.lag_seconds else f", the oldest unread {duration_text(view.lag_seconds)} old"
        yield from labelled("lag", f"{view.lag:,} records{age}", width)
    yield from finding_lines(view.findings, width)


GROUP = Verb(
    "group",
    "say what a group does, what hinders it, and which client is the reason",
    _arguments,
    _run,
    row=GroupExplanation,
)
