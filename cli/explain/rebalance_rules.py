"""Findings about a group's rebalances: which member is awaited, and which clients cause them again and again. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ...views.groups import TimelineEvent
from ..output.columns import duration_text
from .evidence import REBALANCING, Evidence, Told, member_name
from .shapes import Finding

__all__ = ["rebalance_findings"]

_SURE_S = 2.5
"""A rebalance that was seen to take so long is taken for stuck: without the broker's word it may be much older."""
_HOUR_MS = 3_600_000
_MANY_REBALANCES = 5
_MANY_REPLACEMENTS = 3
_SILENT_SHARE = 0.5
"""A member without a heartbeat for this share of its session is taken for silent: clients send three a session."""
_MOST_NAMED = 10

_SLOW = (
    "make max.poll.interval.ms longer than the slowest batch takes, or max.poll.records smaller",
    "look what that client does: its own log, a thread dump",
)
_GONE = ("stop or restart that client; pybroker groups kick removes it at once",)
_NO_COMMON_ASSIGNOR = (
    "give all clients of the group a common partition.assignment.strategy; to change it, roll out clients that offer "
    "both first",
)
_GROUP_IS_FULL = ("a larger group.max.size of the brokers, or fewer consumers in the group",)
_REMEDIES = {
    "session_expired": (
        "look for pauses (garbage collection, CPU limits) and network trouble of that client; a longer "
        "session.timeout.ms bridges them",
    ),
    "member_left": _SLOW,
    "member_joined": ("group.instance.id for clients that restart often",),
    "member_rejoined": ("look why its subscription changes so often",),
    "sync_timed_out": _SLOW,
}


def rebalance_findings(evidence: Evidence) -> list[Finding]:
    """The findings, the worst first."""
    found = [*_stuck(evidence), *_silent_members(evidence), *_replaced_while_watched(evidence)]
    if evidence.told is not None:
        recent = [each for each in evidence.told.events if evidence.told.now_ms - each.time_ms <= _HOUR_MS]
        found += [*_instance_conflicts(recent), *_refused_joins(recent), *_rebalanced_often(recent)]
    return found


def _stuck(evidence: Evidence) -> list[Finding]:
    told = evidence.told
    if told is not None and told.waits_for:  # also for members of a stable group that do not ask for their partitions
        return _awaited(told, told.waits_for, evidence.stuck_after_s)
    if evidence.last.group.state not in REBALANCING:
        return []
    stays = all(look.group.state in REBALANCING for look in evidence.looks)
    removed = _removed(evidence)
    text = f"the rebalance is under way for {duration_text(evidence.watched_s)} at least" if stays else "it rebalances"
    return [
        *removed,
        Finding(
            kind="rebalancing",
            is_trouble=stays and evidence.watched_s >= min(evidence.stuck_after_s, _SURE_S),
            text=f"{text}; Kafka's protocol does not tell which member it waits for",
            culprit=None,
            remedies=(
                "with a pybroker, give --v1 URL: it knows who is awaited",
                "watch longer, with --for 60: the member that is removed at the end is the culprit",
            ),
        ),
    ]


def _awaited(told: Told, waits: Mapping[str, Any], stuck_after_s: float) -> list[Finding]:
    """A finding for each member that the rebalance waits for."""
    waited_s = max(0, told.now_ms - (waits.get("since_ms") or told.now_ms)) / 1000
    until_ms = waits.get("until_ms")
    ends = "" if until_ms is None else f"; it is removed in {duration_text(max(0, until_ms - told.now_ms) / 1000)}"
    is_sync = waits.get("phase") == "sync"
    found = []
    remedies: tuple[str, ...]
    for member_id in waits.get("members", ())[:_MOST_NAMED]:
        member = told.members.get(member_id)
        if member is None:
            text, remedies = "got its member id, but has not joined with it", _GONE
        else:
            text, remedies = _why_awaited(member, told.now_ms, is_sync=is_sync)
        found.append(
            Finding(
                kind="assignment_awaited" if is_sync else "member_awaited",
                is_trouble=waited_s >= stuck_after_s,
                text=f"the group waits for {duration_text(waited_s)} for a member: it {text}{ends}",
                culprit=member_id if member is None else _told_name(member),
                remedies=remedies,
            )
        )
    return found


def _why_awaited(member: Mapping[str, Any], now_ms: int, *, is_sync: bool) -> tuple[str, tuple[str, ...]]:
    last_ms, session_ms = member.get("last_heartbeat_ms"), member.get("session_timeout_ms") or 0
    silent_ms = None if last_ms is None else max(0, now_ms - last_ms)
    if silent_ms is not None and silent_ms > session_ms * _SILENT_SHARE:
        silent = duration_text(silent_ms / 1000)
        return f"has sent nothing for {silent}, so it hangs, or its machine or network is gone", _GONE
    missing = "it has not joined again"
    if is_sync:
        has = "as the leader it has not sent the assignment"
        missing = has if member.get("is_leader") else "it has not asked for its partitions (SyncGroup)"
    alive = "still sends heartbeats" if silent_ms is not None else "is connected"
    return f"{alive}, but {missing}: its poll() was not called since", _SLOW


def _silent_members(evidence: Evidence) -> list[Finding]:
    """Members of a group at rest that sent no heartbeat for long, such as static members that went without a word."""
    told = evidence.told
    if told is None or told.waits_for:
        return []
    found = []
    for member in told.members.values():
        last_ms, session_ms = member.get("last_heartbeat_ms"), member.get("session_timeout_ms") or 0
        if last_ms is None or told.now_ms - last_ms <= session_ms * _SILENT_SHARE:
            continue
        left_s = max(0, last_ms + session_ms - told.now_ms) / 1000
        left = "a static member leaves without a word; " if member.get("instance_id") else ""
        found.append(
            Finding(
                kind="member_gone",
                is_trouble=True,
                text=f"a member has sent nothing for {duration_text((told.now_ms - last_ms) / 1000)}: it hangs, or it "
                f"is gone; {left}nobody else gets its partitions for {duration_text(left_s)} (session.timeout.ms)",
                culprit=_told_name(member),
                remedies=_GONE,
            )
        )
    return found[:_MOST_NAMED]


def _told_name(member: Mapping[str, Any]) -> str:
    instance = f", instance {member['instance_id']}" if member.get("instance_id") else ""
    return f"{member.get('client_id')} at {member.get('host')} (member {member.get('member_id')}{instance})"


def _removed(evidence: Evidence) -> list[Finding]:
    """The members that went while the group was watched."""
    there = {each.member_id for each in evidence.last.group.members}
    instances = {each.instance_id for each in evidence.last.group.members}
    return [
        Finding(
            kind="member_removed",
            is_trouble=True,
            text="a member left or was removed while the group was watched",
            culprit=member_name(member),
            remedies=_SLOW,
        )
        for member in evidence.first.group.members
        if member.member_id not in there and (member.instance_id is None or member.instance_id not in instances)
    ]


def _replaced_while_watched(evidence: Evidence) -> list[Finding]:
    """Static members that came back under other member ids while the group was watched."""
    seen: dict[str, set[str]] = {}
    for look in evidence.looks:
        for member in look.group.members:
            if member.instance_id is not None:
                seen.setdefault(member.instance_id, set()).add(member.member_id)
    return [
        _conflict(instance, f"{len(ids)} member ids within {duration_text(evidence.watched_s)}", None)
        for instance, ids in seen.items()
        if len(ids) > 1
    ]


def _instance_conflicts(events: Iterable[TimelineEvent]) -> list[Finding]:
    """Static members that were replaced again and again: two clients have the same group.instance.id."""
    times: Counter[str] = Counter()
    clients: dict[str, dict[str, None]] = {}
    for each in events:
        is_return = each.kind == "member_replaced" or each.reason == "static_member_returned"
        if is_return and each.instance_id is not None:
            times[each.instance_id] += each.times
            clients.setdefault(each.instance_id, {})[f"{each.client_id} at {each.host}"] = None
    return [
        _conflict(instance, f"it was replaced {count} times in the last hour", " and ".join(clients[instance]))
        for instance, count in times.items()
        if count >= _MANY_REPLACEMENTS
    ]


def _conflict(instance: str, text: str, clients: str | None) -> Finding:
    return Finding(
        kind="instance_id_shared",
        is_trouble=True,
        text=f"group.instance.id {instance} is used by two clients, or by one that restarts again and again: {text}",
        culprit=f"instance {instance}" + (f" ({clients})" if clients else ""),
        remedies=("give each client a group.instance.id of its own",),
    )


def _refused_joins(events: Iterable[TimelineEvent]) -> list[Finding]:
    """Clients that the group does not take, because no assignor is in common with its members, or it is full."""
    return [
        Finding(
            kind="join_refused",
            is_trouble=True,
            text=f"a client cannot join: {each.text}",
            culprit=f"{each.client_id} at {each.host}",
            remedies=_GROUP_IS_FULL if "group.max.size" in each.text else _NO_COMMON_ASSIGNOR,
        )
        for each in events
        if each.kind == "join_refused"
    ]


def _rebalanced_often(events: Iterable[TimelineEvent]) -> list[Finding]:
    rebalances = [each for each in events if each.kind == "rebalance"]
    total = sum(each.times for each in rebalances)
    if total < _MANY_REBALANCES:
        return []
    causes: Counter[tuple[str | None, str | None]] = Counter()
    reasons: dict[tuple[str | None, str | None], Counter[str]] = {}
    for each in rebalances:
        causes[each.client_id, each.host] += each.times
        reasons.setdefault((each.client_id, each.host), Counter())[each.reason or "unknown"] += each.times
    (client, host), count = causes.most_common(1)[0]
    of_client = reasons[client, host].most_common()
    listed = ", ".join(f"{reason} {times}" for reason, times in of_client)
    return [
        Finding(
            kind="rebalances_often",
            is_trouble=True,
            text=f"{total} rebalances in the last hour, {count} of them begun by the same client: {listed}",
            culprit=None if client is None else f"{client} at {host}",
            remedies=_REMEDIES.get(of_client[0][0], ()),
        )
    ]
