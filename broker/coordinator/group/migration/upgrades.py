"""Makes consumer groups of classic groups in turns of the event loop, while these groups take no JoinGroup."""

import logging
from collections.abc import Callable
from functools import partial

from .....protocol.errors import KafkaError, UnknownServerError
from ..group import Group
from ..modern.topics import TopicLookup
from ..modern.turns import ComputationsByGroup, Turns
from ..modern.waiters import Waiters
from ..offset_batch import BegunBatch
from .upgrade import UpgradeDraft, draft_steps

__all__ = ["UpgradeOutcome", "Upgrades"]

logger = logging.getLogger(__name__)

UpgradeOutcome = UpgradeDraft | KafkaError
"""The consumer group, or why there is none."""


class Upgrades:
    """Makes one draft of a classic group at a time. It is for one request, because it changes when it is used."""

    def __init__(self, turns: Turns, topics: TopicLookup, begin_batch: Callable[[], BegunBatch]) -> None:
        self._topics = topics
        self._begin_batch = begin_batch
        self._running = ComputationsByGroup[UpgradeDraft](turns)
        self._waiters = Waiters[KafkaError | None](turns)

    def begin(self, group: Group, done: Callable[[UpgradeOutcome], None]) -> None:
        """Make a draft, and call ``done``. Before that the group may change, or be moved to another broker."""
        group_id = group.group_id
        end = partial(self._end, group_id, done)
        steps = draft_steps(group, self._topics, self._begin_batch())
        self._running.begin(group_id, steps, end, partial(self._fail, group_id, end))

    def is_running(self, group_id: str) -> bool:
        """Whether a draft of the group is being made."""
        return group_id in self._running

    def after(self, group_id: str, go_on: Callable[[KafkaError | None], None]) -> bool:
        """Call ``go_on`` when the draft of the group is made and was used, with the error if there is none.

        Returns False when none is being made.
        """
        if group_id not in self._running:
            return False
        self._waiters.add(group_id, go_on)
        return True

    def _end(self, group_id: str, done: Callable[[UpgradeOutcome], None], outcome: UpgradeOutcome) -> None:
        try:
            done(outcome)
        finally:
            self._waiters.release(group_id, outcome if isinstance(outcome, KafkaError) else None)

    def _fail(self, group_id: str, end: Callable[[UpgradeOutcome], None], error: Exception) -> None:
        if not isinstance(error, KafkaError):
            logger.error("group %s: not converted to a consumer group", group_id, exc_info=error)
            error = UnknownServerError("The group could not be converted to a consumer group.")
        end(error)
