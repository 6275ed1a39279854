"""Findings about what a group reads: nobody reads, lost offsets, members that stand still, missing leaders. Pure."""

from collections import defaultdict
from collections.abc import Iterable

from ...base.lag_verdicts import MIN_SILENCE_S
from ...base.topic_partition import TopicPartition
from ..groups.described_groups import CLASSIC, DEAD, SHARE
from ..groups.number_ranges import ranges
from ..groups.partition_offsets import GONE
from ..groups.shapes import GroupMember, GroupPartition
from ..output.columns import duration_text
from .evidence import REBALANCING, Evidence, member_name
from .shapes import Finding

__all__ = ["is_silent", "reading_findings"]

_MOST_FINDINGS_OF_A_KIND = 10
_OF_CLASSIC_ASSIGNMENT = (
    "after a change of partitions the clients see it within metadata.max.age.ms (5 minutes)",
    "else look at partition.assignment.strategy, or restart the group's consumers",
)


def reading_findings(evidence: Evidence) -> list[Finding]:
    """The findings, the worst first."""
    rules = _SHARE_RULES if evidence.last.group.group_type == SHARE else _RULES
    return [finding for rule in rules for finding in rule(evidence)[:_MOST_FINDINGS_OF_A_KIND]]


def is_silent(evidence: Evidence, at: TopicPartition) -> bool:
    """Whether a partition has had records to read for long, while its offset did not move when it was watched."""
    last = evidence.last.partitions[at]
    if not last.lag or last.lag_seconds is None or last.lag_seconds <= MIN_SILENCE_S:
        return False
    offsets = {look.partitions[at].committed for look in evidence.looks if at in look.partitions}
    return len(evidence.looks) > 1 and len(offsets) == 1


def _no_members(evidence: Evidence) -> list[Finding]:
    group = evidence.last.group
    if group.members or group.state in REBALANCING:
        return []
    lag = evidence.lag
    expires = group.state != DEAD and group.group_type != SHARE
    return [
        Finding(
            kind="no_members",
            is_trouble=bool(lag),
            text="the group has no member, so nobody reads"
            + (f"; {lag:,} records wait" if lag else "")
            + ("; the group's offsets expire after offsets.retention.minutes" if lag and expires else ""),
            culprit=None,
            remedies=(
                "start a consumer; if there should be one, look in its log: its group.id, its address of the cluster "
                "and its rights",
            ),
        )
    ]


def _no_leader(evidence: Evidence) -> list[Finding]:
    found = []
    culprit: str | None
    remedies: tuple[str, ...]
    places = {**{at: each.leader for at, each in evidence.last.partitions.items()}, **evidence.leaders}
    for topic, numbers in _by_topic(at for at, leader in places.items() if leader is None).items():
        problems = {
            each.problem
            for each in evidence.last.partitions.values()
            if each.topic == topic and each.partition in numbers and each.problem
        }
        is_gone = problems == {GONE}
        dead = {
            broker
            for number in numbers
            for broker in evidence.surroundings.dead_replicas.get(TopicPartition(topic, number), ())
        }
        away = f"broker {', '.join(map(str, sorted(dead)))}" if dead else ""
        if is_gone:
            text, culprit, remedies = "does not exist any more", None, ()
        else:
            text, culprit = "has no leader, so nobody can read it", "the brokers with its replicas"
            remedies = (f"start {away or 'them'}; pybroker topics describe {topic} shows more",)
        found.append(
            Finding(
                kind="partition_missing" if is_gone else "no_leader",
                is_trouble=not is_gone,
                text=f"{topic}:{ranges(numbers)} {text}",
                culprit=f"{away}, not alive" if away else culprit,
                remedies=remedies,
            )
        )
    return found


def _lost_offsets(evidence: Evidence) -> list[Finding]:
    found = []
    remedies: tuple[str, ...]
    for each in evidence.last.partitions.values():
        if not each.is_offset_lost or each.committed is None or each.start_offset is None or each.end_offset is None:
            continue
        if each.committed < each.start_offset:
            lost = each.start_offset - each.committed
            text = (
                f"{each.topic}-{each.partition}: {lost:,} records that the group had not read were deleted, by "
                f"retention or by DeleteRecords (offset {each.committed}, the log starts at {each.start_offset})"
            )
            remedies = (
                "auto.offset.reset decides where the group goes on; pybroker groups reset sets it",
                f"if retention deleted them: a longer retention.ms of {each.topic}, or more consumers",
            )
        else:
            text = (
                f"{each.topic}-{each.partition}: offset {each.committed} is behind the end of the log, "
                f"{each.end_offset}: the topic was made anew, or its records were truncated"
            )
            remedies = ("pybroker groups reset sets the offset",)
        found.append(
            Finding(kind="offset_lost", is_trouble=True, text=text, culprit=_reader_of(each), remedies=remedies)
        )
    return found


def _held_back(evidence: Evidence) -> list[Finding]:
    return [
        Finding(
            kind="transaction_open",
            is_trouble=(evidence.last.partitions[at].lag_seconds or 0) > MIN_SILENCE_S,
            text=f"{at}: the next record belongs to an open transaction; with isolation.level=read_committed the group "
            "waits for its end",
            culprit=producer,
            remedies=("pybroker txns hanging shows such transactions, and can end them",),
        )
        for at, producer in evidence.transactions.items()
    ]


def _silent_readers(evidence: Evidence) -> list[Finding]:
    """Members that commit nothing for all partitions with lag, or only for some of them."""
    found = []
    rows = evidence.last.partitions
    for member, places in _readers(evidence).items():
        silent = [at for at in places if is_silent(evidence, at) and at not in evidence.transactions]
        never = [at for at in places if rows[at].committed is None and _has_records(rows[at])]
        if silent:
            moving = [at for at in places if at not in silent and _has_moved(evidence, at)]
            found.append(_stands_still(evidence, member, silent, is_whole=not moving))
        elif never and len(evidence.looks) > 1:
            found.append(
                Finding(
                    kind="no_offsets",
                    is_trouble=False,
                    text=f"a member has committed no offset yet for {_names(never)}, where there are records",
                    culprit=member_name(member),
                    remedies=(
                        "commit offsets, or set enable.auto.commit; a new member starts where auto.offset.reset says",
                    ),
                )
            )
    return found


def _stands_still(evidence: Evidence, member: GroupMember, silent: list[TopicPartition], *, is_whole: bool) -> Finding:
    rows = evidence.last.partitions
    worst = max(silent, key=lambda at: rows[at].lag_seconds or 0)
    age = duration_text(rows[worst].lag_seconds)
    watched = duration_text(evidence.watched_s)
    where = f"{_names(silent)}: no commit in {watched}, while the oldest unread record is {age} old"
    if is_whole:
        return Finding(
            kind="member_silent",
            is_trouble=True,
            text=f"a member does not go on with {where}",
            culprit=member_name(member),
            remedies=(
                "look what that client does: a slow or endless batch (then it leaves after max.poll.interval.ms), "
                "paused partitions, or commits that fail",
                "pybroker groups kick gives its partitions to others",
            ),
        )
    return Finding(
        kind="partition_silent",
        is_trouble=True,
        text=f"a member goes on with its other partitions, but not with {where}. It may fail at the record at offset "
        f"{rows[worst].committed}",
        culprit=member_name(member),
        remedies=(
            f"look at that record: pybroker consume {worst.topic}:{worst.partition} -o {rows[worst].committed} -n 1",
            "pybroker groups reset with --to +1 skips it, when the group is stopped",
        ),
    )


def _unread_topics(evidence: Evidence) -> list[Finding]:
    """Topics that members subscribe to, but that do not exist or may not be seen."""
    there = {at.topic for at in evidence.leaders}
    missing: dict[str, GroupMember] = {}
    for member in evidence.last.group.members:
        for topic in member.topics or ():
            if topic not in there:
                missing.setdefault(topic, member)
    return [
        Finding(
            kind="topic_missing",
            is_trouble=True,
            text=f"topic {topic} is subscribed to, but does not exist, or this user may not describe it",
            culprit=member_name(member),
            remedies=(f"pybroker topics create {topic}, or correct the subscription",),
        )
        for topic, member in missing.items()
    ]


def _unassigned(evidence: Evidence) -> list[Finding]:
    group = evidence.last.group
    if group.state != "Stable" or any(member.assignment is None for member in group.members):
        return []
    assigned = {
        TopicPartition(part.topic, number)
        for member in group.members
        for part in member.assignment or ()
        for number in part.partitions
    }
    left = _by_topic(at for at in evidence.leaders if at not in assigned)
    return [
        Finding(
            kind="partition_unassigned",
            is_trouble=True,
            text=f"{topic}:{ranges(numbers)} is subscribed to, but no member has it",
            culprit="the leader of the group, which assigns partitions" if group.group_type == CLASSIC else None,
            remedies=_OF_CLASSIC_ASSIGNMENT if group.group_type == CLASSIC else (),
        )
        for topic, numbers in left.items()
    ]


def _idle(evidence: Evidence) -> list[Finding]:
    members = evidence.last.group.members
    idle = [each for each in members if each.assignment == ()]
    if evidence.last.group.state != "Stable" or not idle or not _has_topics(evidence):
        return []
    return [
        Finding(
            kind="members_idle",
            is_trouble=False,
            text=f"{len(idle)} of {len(members)} members have no partition: there are not enough",
            culprit=member_name(idle[0]) if len(idle) == 1 else None,
            remedies=("more partitions, or fewer consumers",),
        )
    ]


def _has_topics(evidence: Evidence) -> bool:
    """Whether a pattern of the members, if there is one, has found topics."""
    return bool(evidence.leaders) or all(member.pattern is None for member in evidence.last.group.members)


def _readers(evidence: Evidence) -> dict[GroupMember, list[TopicPartition]]:
    members = {each.member_id: each for each in evidence.last.group.members}
    found: dict[GroupMember, list[TopicPartition]] = defaultdict(list)
    for at, row in evidence.last.partitions.items():
        if row.member_id in members:
            found[members[row.member_id]].append(at)
    return found


def _has_moved(evidence: Evidence, at: TopicPartition) -> bool:
    return len({look.partitions[at].committed for look in evidence.looks if at in look.partitions}) > 1


def _has_records(row: GroupPartition) -> bool:
    return row.end_offset is not None and row.start_offset is not None and row.end_offset > row.start_offset


def _reader_of(row: GroupPartition) -> str | None:
    return None if row.member_id is None else f"{row.client_id} at {row.host} (member {row.member_id})"


def _by_topic(places: Iterable[TopicPartition]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = defaultdict(list)
    for at in sorted(places):
        found[at.topic].append(at.partition)
    return found


def _names(places: Iterable[TopicPartition]) -> str:
    return " ".join(f"{topic}:{ranges(numbers)}" for topic, numbers in _by_topic(places).items())


_RULES = (_no_members, _no_leader, _lost_offsets, _held_back, _silent_readers, _unread_topics, _unassigned, _idle)
_SHARE_RULES = (_no_members, _no_leader, _unread_topics)
"""Members of share groups commit no offsets; the broker assigns all partitions, soon after a member has joined."""
