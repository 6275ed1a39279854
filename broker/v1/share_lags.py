"""The lags of share groups as resources show them: what the share coordinators and leaders of their partitions tell.

**How.** A reader has the groups asked about whose last result is two seconds old, and waits for a second at most.

**Limits.** One reader asks about the 50 groups with the oldest results. A group without a result has no lag.
"""

import asyncio
import math
from collections.abc import Iterable, Sequence

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, KafkaError
from ..apis.groups.awaited import awaited
from ..coordinator.group.share.share_group import ShareGroup
from ..coordinator.group.share.share_lag import has_lag, lag_up_to
from ..coordinator.group.share.share_offsets import Summaries
from ..coordinator.share.ports import EndOffset, StateSummary
from ..coordinators import Coordinators
from ..lag.group_lags import PartitionLag

__all__ = ["ShareLags"]

_VALID_S = 2.0
_LIMIT_S = 1.0
_STATES_S = 0.7
"""The part of the limit in which share coordinators answer; the leaders have the rest."""
_MOST_GROUPS = 50


class _Known:
    """The last result for a group. ``asked_s``: when it was asked for."""

    __slots__ = ("asked_s", "lags")

    def __init__(self) -> None:
        self.asked_s = -math.inf
        self.lags: Sequence[PartitionLag] = ()


class ShareLags:
    """Remembers the last results."""

    def __init__(self, coordinators: Coordinators) -> None:
        self._coordinators = coordinators
        self._known: dict[str, _Known] = {}
        self._one_at_a_time = asyncio.Lock()

    def of(self, group_id: str) -> Sequence[PartitionLag]:
        """The partitions in which the group has begun, as far as `refresh` learned of them."""
        known = self._known.get(group_id)
        return () if known is None else known.lags

    async def refresh(self, groups: Iterable[ShareGroup]) -> None:
        """Ask about the groups whose last result is too old."""
        try:
            async with asyncio.timeout(_LIMIT_S), self._one_at_a_time:
                await self._refresh(groups)
        except TimeoutError:
            pass  # the others keep their last result

    async def _refresh(self, groups: Iterable[ShareGroup]) -> None:
        now_s = asyncio.get_running_loop().time()
        self._forget_ended()
        known = {group.group_id: self._known.setdefault(group.group_id, _Known()) for group in groups}
        due = [name for name, each in known.items() if now_s - each.asked_s >= _VALID_S]
        asked = sorted(due, key=lambda name: known[name].asked_s)[:_MOST_GROUPS]
        for name in asked:
            known[name].asked_s = now_s
        await asyncio.gather(*(self._ask(name, known[name]) for name in asked))

    def _forget_ended(self) -> None:
        registry = self._coordinators.groups.registry
        for name in [each for each in self._known if not isinstance(registry.get(each), ShareGroup)]:
            del self._known[name]

    async def _ask(self, group_id: str, known: _Known) -> None:
        offsets, share = self._coordinators.groups.share_offsets, self._coordinators.share
        if offsets is None or share is None:
            return
        try:
            found: Summaries = await awaited(lambda done: offsets.describe(group_id, None, _STATES_S, done))
        except KafkaError:  # the group has another coordinator now
            return
        begun = {
            TopicPartition(each.topic, each.partition): summary
            for each, summary in found.items()
            if isinstance(summary, StateSummary) and has_lag(summary)
        }
        ends = await share.get().end_offsets(begun)
        known.lags = [_lag(at, summary, ends.get(at)) for at, summary in sorted(begun.items())]


def _lag(at: TopicPartition, summary: StateSummary, end: EndOffset | None) -> PartitionLag:
    known_end = None if end is None or isinstance(end, ErrorCode) else end
    lag = None if known_end is None else lag_up_to(known_end, summary)
    return PartitionLag(at, summary.start_offset, None, known_end, lag, None, False, None, None)
