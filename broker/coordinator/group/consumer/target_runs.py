"""Computes the target assignments of large consumer groups, outside of requests."""

from collections.abc import Callable, Generator, Mapping

from ..modern.assignors.assignor import Assigned, Assignor
from ..modern.target_runs import ComputedTarget, TargetRunsOf
from ..modern.topics import TopicLookup
from ..modern.turns import Turns
from .consumer_group import ConsumerGroup
from .settings import ConsumerGroupSettings
from .targets import input_steps

__all__ = ["TargetRuns"]


class TargetRuns(TargetRunsOf[ConsumerGroup]):
    """By the assignor that the members prefer."""

    def __init__(
        self,
        turns: Turns,
        settings: ConsumerGroupSettings,
        topics: TopicLookup,
        assignors: Mapping[str, Assignor],
        computed: Callable[[ConsumerGroup, ComputedTarget], None],
        may_store: Callable[[str], bool],
    ) -> None:
        super().__init__(turns, computed, may_store)
        self._settings = settings
        self._topics = topics
        self._assignors = assignors

    def _assignor_name(self, group: ConsumerGroup) -> str:
        return group.subscriptions.assignor(self._settings.assignors)

    def _steps(self, group: ConsumerGroup) -> Generator[None, None, Assigned]:
        assignor = self._assignors[self._assignor_name(group)]
        spec = yield from input_steps(group, self._topics)
        return (yield from assignor.steps(spec))
