"""Computes the target assignments of large share groups, outside of requests."""

from collections.abc import Callable, Generator

from ..modern.assignors.assignor import Assigned
from ..modern.target_runs import ComputedTarget, TargetRunsOf
from ..modern.topics import TopicLookup
from ..modern.turns import Turns
from .share_group import ShareGroup
from .states import assignable_steps
from .targets import assigned_steps

__all__ = ["ShareTargetRuns"]


class ShareTargetRuns(TargetRunsOf[ShareGroup]):
    """By the only assignor that share groups have."""

    def __init__(
        self,
        turns: Turns,
        topics: TopicLookup,
        computed: Callable[[ShareGroup, ComputedTarget], None],
        may_store: Callable[[str], bool],
    ) -> None:
        super().__init__(turns, computed, may_store)
        self._topics = topics

    def _assignor_name(self, group: ShareGroup) -> str:
        return "simple"

    def _steps(self, group: ShareGroup) -> Generator[None, None, Assigned]:
        members = {member_id: member.metadata for member_id, member in group.members.items()}
        names = tuple(group.subscribers.topics)
        partitions = yield from assignable_steps(group.states, names, self._topics)
        return (yield from assigned_steps(group.targets, members, partitions, self._topics))
