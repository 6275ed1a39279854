"""The lag of a group as the documents show it: the sums, and each partition."""

from collections.abc import Mapping
from typing import NamedTuple

from ...base.lag_verdicts import Verdict
from ...base.topic_partition import TopicPartition
from ..coordinator.group.base import GroupBase
from ..coordinator.group.share.share_group import ShareGroup
from ..lag.group_lags import GroupLag, PartitionLag
from .known_state import KnownState
from .slices import in_slices
from .words import duration_text

__all__ = ["ShownLag", "lag_of", "verdict_name"]

_TEXTS = {
    Verdict.OK: "keeps up",
    Verdict.CATCHING_UP: "catches up",
    Verdict.FALLING_BEHIND: "falls behind",
    Verdict.REWOUND: "went back to an earlier offset",
    Verdict.STALLED: "commits the same offset again, while records wait",
    Verdict.STOPPED: "commits nothing, while records wait",
}


class ShownLag(NamedTuple):
    """``lag``: the sum in records. ``max_lag``, ``max_lag_s``: of the worst partitions. ``verdict``: None without
    offsets."""

    lag: int | None
    max_lag: int | None
    max_lag_s: float | None
    verdict: Verdict | None
    text: str | None
    catch_up_s: float | None
    partitions: Mapping[TopicPartition, PartitionLag]


async def lag_of(state: KnownState, group: GroupBase) -> ShownLag:
    """Return the lag of the committed offsets as they are now; of a share group, as `ShareLags` knows it."""
    if isinstance(group, ShareGroup):
        told = GroupLag(group.group_id, list(state.recent.share_lags.of(group.group_id)))
        by_partition = {each.topic_partition: each for each in told.partitions}
        return ShownLag(told.lag, told.max_lag, None, None, None, None, by_partition)
    found = None
    async for step in in_slices(state.lags.steps(group)):
        found = step
    assert found is not None  # the last step is the result
    partitions = {each.topic_partition: each for each in found.partitions}
    verdict = found.verdict if partitions else None
    text = None if verdict is None else _text(verdict, found.partitions, found.catch_up_s)
    max_lag_s = found.max_lag_s
    return ShownLag(
        found.lag,
        found.max_lag,
        None if max_lag_s is None else round(max_lag_s, 3),
        verdict,
        text,
        None if found.catch_up_s is None else round(found.catch_up_s, 1),
        partitions,
    )


def verdict_name(verdict: Verdict | None) -> str | None:
    return None if verdict is None else verdict.name.lower()


def _text(verdict: Verdict, partitions: list[PartitionLag], catch_up_s: float | None) -> str:
    text = _TEXTS[verdict]
    if verdict is Verdict.CATCHING_UP and catch_up_s is not None:
        return f"{text}, done in {duration_text(catch_up_s)}"
    if verdict > Verdict.CATCHING_UP:
        worst = [each for each in partitions if each.verdict is verdict]
        first = min(each.topic_partition for each in worst)
        more = f" and {len(worst) - 1} more" if len(worst) > 1 else ""
        return f"{text} ({first}{more})"
    return text
