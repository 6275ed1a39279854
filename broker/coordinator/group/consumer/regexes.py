"""Looks up the topics that match the patterns of consumer groups' members, outside of requests.

When: a pattern is new, at most twice in 10 s; topics came or went since, at most each 10 s; or the topics of a pattern
were looked up ``regex_refresh_ms`` ago. A heartbeat of any member of the group starts it.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Sequence, Set
from functools import partial
from math import inf
from typing import NamedTuple

from .....base.quiet_lines import QUIET
from ....patterns.error import PatternError
from ....patterns.pattern import compile_pattern
from ..modern.topics import TopicLookup
from ..modern.turns import ComputationsByGroup, Turns
from .consumer_group import ConsumerGroup
from .records import ResolvedPattern
from .settings import ConsumerGroupSettings

__all__ = ["Hidden", "PatternResolution"]

logger = logging.getLogger(__name__)

_LEAST_INTERVAL_S = 10.0


class _LookUp(NamedTuple):
    """The last look-up of a group's patterns. ``version``: of the topics. ``began_s``: by the scheduler's clock.

    ``before_s``: when the look-up before it began.
    ``unstored``: patterns whose topics were not stored, because they are too large, so that they stay unresolved.
    """

    version: int
    began_s: float
    before_s: float
    unstored: frozenset[str] = frozenset()


Hidden = Callable[[Iterable[str]], Set[str]]
"""Returns the topics that the client of a heartbeat may not see."""


class PatternResolution:
    """``resolved`` gets the topics of a group's patterns.

    ``may_store``: whether the log would take them for a group, by its id, now. If not, the first heartbeat after that
    looks them up.
    """

    def __init__(
        self,
        turns: Turns,
        now_ms: Callable[[], int],
        settings: ConsumerGroupSettings,
        topics: TopicLookup,
        resolved: Callable[[ConsumerGroup, Sequence[ResolvedPattern]], None],
        may_store: Callable[[str], bool],
    ) -> None:
        self._scheduler = turns.scheduler
        self._now_ms = now_ms
        self._refresh_s = settings.regex_refresh_ms / 1000
        self._topics = topics
        self._resolved = resolved
        self._may_store = may_store
        self._version = 0
        """Grows whenever topics came or went."""
        self._last: dict[str, _LookUp] = {}
        """By group id."""
        self._running = ComputationsByGroup[list[ResolvedPattern]](turns)

    def topics_came_or_went(self) -> None:
        self._version += 1

    def maybe_begin(self, group: ConsumerGroup, hidden: Hidden) -> None:
        """Look topics up if it is time."""
        patterns = group.subscriptions.patterns
        is_due = patterns and group.group_id not in self._running and self._is_due(group)
        if not is_due or not self._may_store(group.group_id):
            return
        last = self._last.get(group.group_id)
        before_s = -inf if last is None else last.began_s
        self._last[group.group_id] = _LookUp(self._version, self._scheduler.time(), before_s)
        self._running.begin(
            group.group_id,
            self._steps(tuple(patterns), hidden),
            partial(self._end, group),
            partial(self._fail, group),
        )

    def not_stored(self, group: ConsumerGroup, patterns: Iterable[str]) -> None:
        """The topics of these patterns could not be stored: heartbeats do not look them up again soon."""
        last = self._last.get(group.group_id)
        if last is not None:
            self._last[group.group_id] = last._replace(unstored=frozenset(patterns))

    def end(self, group: ConsumerGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._last.pop(group.group_id, None)
        self._running.cancel(group.group_id)

    def _is_due(self, group: ConsumerGroup) -> bool:
        last = self._last.get(group.group_id)
        if last is None:
            return True
        now_s, known = self._scheduler.time(), group.patterns
        if now_s - last.before_s >= _LEAST_INTERVAL_S and any(
            each not in known and each not in last.unstored for each in group.subscriptions.patterns
        ):
            return True
        passed_s = now_s - last.began_s
        return passed_s >= self._refresh_s or (last.version != self._version and passed_s >= _LEAST_INTERVAL_S)

    def _steps(self, patterns: Sequence[str], hidden: Hidden) -> Generator[None, None, list[ResolvedPattern]]:
        found = []
        for text in patterns:
            topics: list[str] = []
            try:
                pattern = yield from compile_pattern(text)
            except PatternError as error:  # another coordinator took it
                logger.warning("pattern %r matches no topic: %s", text, error, extra=QUIET)
            else:
                yield
                topics = yield from pattern.matching(tuple(self._topics.topics))
            visible = frozenset(topics).difference(hidden(topics))
            found.append(ResolvedPattern(text, visible, self._version, self._now_ms()))
            yield
        return found

    def _end(self, group: ConsumerGroup, found: list[ResolvedPattern]) -> None:
        if self._may_store(group.group_id):
            self._resolved(group, found)
        else:
            self._last.pop(group.group_id, None)

    def _fail(self, group: ConsumerGroup, error: Exception) -> None:
        self.not_stored(group, group.subscriptions.patterns)
        logger.error("group %s: topics of patterns not found", group.group_id, exc_info=error)
