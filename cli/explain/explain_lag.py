"""``pybroker explain lag``: whether a group keeps up, how long it takes to catch up, and why it does not."""

from ...base.command_parser import CommandParser
from ...base.lag_verdicts import MIN_SILENCE_S, UNKNOWN_END, Verdict, judge, trend, worst
from ...base.topic_partition import TopicPartition
from ..exit_codes import DONE, UNHEALTHY
from ..groups.group_partitions import lost_records
from ..output.columns import duration_text
from ..verb import Call, Verb
from .evidence import Evidence, gathered
from .explain_group import explanation_lines
from .reading_rules import reading_findings
from .rebalance_rules import rebalance_findings
from .shapes import Finding, LagExplanation
from .surrounding_rules import surrounding_findings
from .watch_time import add_group_arguments

__all__ = ["LAG", "lag_explanation_of"]

_WATCH_S = 6.0
"""Longer than the interval in which consumers commit by default, 5 s."""
_SKEWED_SHARE = 0.8
_MANY_PARTITIONS = 3
_TEXTS = {
    Verdict.OK: "keeps up",
    Verdict.CATCHING_UP: "is CATCHING UP",
    Verdict.FALLING_BEHIND: "is FALLING BEHIND",
    Verdict.REWOUND: "was REWOUND: an offset went back",
    Verdict.STALLED: "does NOT MOVE: no offset went on",
    Verdict.STOPPED: "has STOPPED: there are old records to read, but no commit",
}
_HEALTHY = (Verdict.OK, Verdict.CATCHING_UP)


def _arguments(parser: CommandParser) -> None:
    add_group_arguments(parser, _WATCH_S)


def _run(call: Call) -> int:
    group = call.options.group
    view = lag_explanation_of(group, gathered(call, group))
    call.output.documents([view], explanation_lines, name=lambda each: each.group)
    return DONE if view.is_healthy else UNHEALTHY


def lag_explanation_of(group: str, evidence: Evidence) -> LagExplanation:
    """The verdict and its reasons."""
    verdict = _verdict(evidence)
    written, read = _rates(evidence)
    lag = evidence.lag
    catch_up_s = None
    if lag is not None and written is not None and read is not None and (lag == 0 or read > written):
        catch_up_s = 0.0 if lag == 0 else lag / (read - written)
    found = [
        *rebalance_findings(evidence),
        *surrounding_findings(evidence),
        *reading_findings(evidence),
        *_skew(evidence),
    ]
    found += _too_slow(verdict, written, read)
    found.sort(key=lambda finding: not finding.is_trouble)
    is_healthy = verdict in (None, *_HEALTHY) and not any(finding.is_trouble for finding in found)
    lagging = [each for each in evidence.last.partitions.values() if each.lag]
    return LagExplanation(
        group=group,
        source=evidence.source,
        is_healthy=is_healthy,
        verdict=None if verdict is None else verdict.name.lower(),
        text=_text(evidence, verdict, written, read, catch_up_s),
        lag=lag,
        lag_seconds=evidence.lag_s,
        written_per_second=written,
        read_per_second=read,
        seconds_to_catch_up=None if catch_up_s is None else round(catch_up_s, 1),
        watched_seconds=round(evidence.watched_s, 1),
        findings=tuple(found),
        partitions=tuple(sorted(lagging, key=lambda each: (-(each.lag or 0), each.topic, each.partition))),
    )


def _verdict(evidence: Evidence) -> Verdict | None:
    """The verdict of the broker, which sees each commit, else the worst of the partitions; None without offsets."""
    told = None if evidence.told is None else evidence.told.group.get("verdict")
    if isinstance(told, str) and told.upper() in Verdict.__members__:
        return Verdict[told.upper()]
    verdicts = [_verdict_of(evidence, at) for at, row in evidence.last.partitions.items() if row.lag is not None]
    return worst(verdicts) if verdicts else None


def _verdict_of(evidence: Evidence, at: TopicPartition) -> Verdict:
    """By the rules of the broker, which sees commits. Here each look stands for one."""
    row = evidence.last.partitions[at]
    rows = [(look.at_s, look.partitions[at]) for look in evidence.looks if at in look.partitions]
    seen = [(at_s, each) for at_s, each in rows if each.committed is not None]
    offsets = [each.committed for _, each in seen if each.committed is not None]
    ends = [UNKNOWN_END if each.end_offset is None else each.end_offset for _, each in seen]
    verdict, _ = trend(offsets, ends, [round(at_s * 1000) for at_s, _ in seen])
    is_still = len(set(offsets)) == 1
    if verdict is Verdict.STALLED and row.lag_seconds is not None and row.lag_seconds <= MIN_SILENCE_S:
        return Verdict.OK  # a group may commit less often than it was looked at
    return judge(verdict, row.lag or 0, float("inf") if is_still else 0.0, row.lag_seconds, evidence.watched_s)


def _rates(evidence: Evidence) -> tuple[float | None, float | None]:
    """Records a second that were written and read; None when the group was not watched."""
    if evidence.watched_s <= 0:
        return None, None
    written = read = 0
    for at, last in evidence.last.partitions.items():
        first = evidence.first.partitions.get(at)
        if first is not None and None not in (first.end_offset, last.end_offset, first.committed, last.committed):
            written += (last.end_offset or 0) - (first.end_offset or 0)
            read += max(0, (last.committed or 0) - (first.committed or 0))
    return round(written / evidence.watched_s, 1), round(read / evidence.watched_s, 1)


def _text(
    evidence: Evidence, verdict: Verdict | None, written: float | None, read: float | None, catch_up_s: float | None
) -> str:
    if verdict is None:
        return "has committed no offsets, so it has no lag that the cluster knows"
    lost = sum(map(lost_records, evidence.last.partitions.values()))
    if evidence.lag == 0:
        return f"has LOST {lost:,} records unread; all others are read" if lost else "has read everything"
    if not evidence.last.group.members:
        return "does NOT READ: it has no members"
    rates = "" if written is None or read is None else f"; {read:,.0f} records/s read, {written:,.0f} written"
    when = "" if catch_up_s is None else f"; it has caught up in {duration_text(catch_up_s)}"
    return f"{_TEXTS[verdict]}{rates}{when}"


def _skew(evidence: Evidence) -> list[Finding]:
    """One partition has nearly all of the lag: a hot key, or one member that is slow."""
    rows = [each for each in evidence.last.partitions.values() if each.lag is not None]
    total = evidence.lag or 0
    if len(rows) < _MANY_PARTITIONS or not total:
        return []
    top = max(rows, key=lambda each: each.lag or 0)
    share = (top.lag or 0) / total
    if share < _SKEWED_SHARE:
        return []
    reader = None if top.member_id is None else f"{top.client_id} at {top.host} (member {top.member_id})"
    return [
        Finding(
            kind="lag_skewed",
            is_trouble=False,
            text=f"{top.topic}-{top.partition} has {share:.0%} of the lag of {len(rows)} partitions",
            culprit=reader,
            remedies=("look for a key that most records have, or for a slow record there",),
        )
    ]


def _too_slow(verdict: Verdict | None, written: float | None, read: float | None) -> list[Finding]:
    if verdict is not Verdict.FALLING_BEHIND or not read or written is None:
        return []
    return [
        Finding(
            kind="too_slow",
            is_trouble=True,
            text=f"all members together read {read:,.0f} records/s, but {written:,.0f} are written",
            culprit=None,
            remedies=("more consumers, as long as there are partitions for them", "less work for each record"),
        )
    ]


LAG = Verb("lag", "say whether a group keeps up, and why it does not", _arguments, _run, row=LagExplanation)
