"""All groups of this broker at a glance: the worst of them, and the worst lag of each topic.

**Limits.** A new look is taken when the last one is older than two seconds and than twenty times the CPU time it took.
Therefore a broker with very many groups spends at most 5 % of its time on looks.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...base.lag_verdicts import Verdict
from ..coordinator.group.base import GroupBase
from ..coordinator.group.group import Group
from ..coordinator.group.share.share_group import ShareGroup
from ..coordinator.group.states import GroupState
from .group_lag import ShownLag, lag_of
from .known_state import KnownState
from .slices import in_slices
from .verdict import GroupProblem
from .words import duration_text

__all__ = ["GroupWatch", "GroupsLook", "TopicLag"]

_LEAST_AGE_S = 2.0
_AGE_FACTOR = 20
_LONG_WAIT_MS = 60_000
_MOST_PROBLEMS = 20
_TROUBLE = (Verdict.STALLED, Verdict.STOPPED)


class TopicLag(NamedTuple):
    """The worst lag of a partition of a topic, over all groups."""

    lag: int | None
    lag_s: float | None


class GroupsLook(NamedTuple):
    """One look at all groups. ``worst_group``: the group with the most seconds of lag."""

    groups: int
    worst_group: str | None
    max_lag_s: float | None
    problems: Sequence[GroupProblem]
    topics: Mapping[str, TopicLag]


class GroupWatch:
    """Remembers the last look."""

    def __init__(self, state: KnownState) -> None:
        self._state = state
        self._one_at_a_time = asyncio.Lock()
        self._look: GroupsLook | None = None
        self._valid_until_s = 0.0

    async def look(self) -> GroupsLook:
        """Return a look that is recent enough."""
        loop = asyncio.get_running_loop()
        async with self._one_at_a_time:
            if self._look is None or loop.time() >= self._valid_until_s:
                began_s = time.thread_time()
                self._look = await _look_at(self._state)
                took_s = time.thread_time() - began_s  # with the work of others meanwhile: an upper bound
                self._valid_until_s = loop.time() + max(_LEAST_AGE_S, took_s * _AGE_FACTOR)
            return self._look


async def _look_at(state: KnownState) -> GroupsLook:
    groups = list(state.parts.coordinators.groups.registry.groups())
    worst: tuple[float, str] | None = None
    problems: list[GroupProblem] = []
    topics: dict[str, TopicLag] = {}
    async for group in in_slices(groups):
        lag = await lag_of(state, group)
        if lag.max_lag_s is not None and (worst is None or lag.max_lag_s > worst[0]):
            worst = lag.max_lag_s, group.group_id
        problem = _long_wait(group, state.clock_ms()) or _lag_problem(group, lag)
        if problem is not None and len(problems) < _MOST_PROBLEMS:
            problems.append(problem)
        if not isinstance(group, ShareGroup):  # its lag is known only after a request for it
            _note_topics(topics, lag)
    return GroupsLook(
        len(groups),
        None if worst is None else worst[1],
        None if worst is None else worst[0],
        problems,
        topics,
    )


def _note_topics(topics: dict[str, TopicLag], lag: ShownLag) -> None:
    for (topic, _), each in lag.partitions.items():
        if each.lag is not None:
            before = topics.get(topic, _NO_LAG)
            lag_s = _larger(before.lag_s, each.lag_s)
            topics[topic] = TopicLag(max(each.lag, before.lag or 0), lag_s)


_NO_LAG = TopicLag(None, None)


def _larger(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else max(one, other)


def _long_wait(group: GroupBase, now_ms: int) -> GroupProblem | None:
    """A classic group without members is no problem: nobody waits."""
    if not isinstance(group, Group) or group.state is not GroupState.PREPARING_REBALANCE:
        return None
    since_ms = group.state_timestamp_ms
    waits_ms = 0 if since_ms is None else now_ms - since_ms
    if waits_ms < _LONG_WAIT_MS:
        return None
    missing = [each.member_id for each in group.members_not_joined()]
    name = f"member {missing[0]}" if missing else "a new member"
    text = f"group {group.group_id} waits for {name} for {duration_text(waits_ms / 1000)}"
    return GroupProblem(group=group.group_id, kind="group_waits", severity="trouble", text=text)


def _lag_problem(group: GroupBase, lag: ShownLag) -> GroupProblem | None:
    """A group without members is no problem: nobody reads."""
    if not group.member_count or lag.verdict is None or lag.verdict <= Verdict.CATCHING_UP:
        return None
    return GroupProblem(
        group=group.group_id,
        kind=f"group_{lag.verdict.name.lower()}",
        severity="trouble" if lag.verdict in _TROUBLE else "warning",
        text=f"group {group.group_id}: {lag.text}",
    )
