"""Looks at the topics of share groups after some of them changed.

**Why.** A look finds which partitions need a state, which topics are gone with their states, and whether members have
the partitions that they may get. That takes a tenth of a second for 10,000 topics, so that a large group is looked at
in turns of the event loop. Until then heartbeats are decided as if nothing had changed.
"""

import logging
from collections.abc import Generator
from functools import partial

from ..modern.assignors.assignor import run_through
from ..modern.assignors.steps import Pace, sorted_in_steps
from ..modern.topics import TopicLookup
from ..modern.turns import ComputationsByGroup, Turns
from .share_group import ShareGroup, TopicLook
from .states import assignable_steps, with_new_partitions_steps, without_missing_steps
from .targets import up_to_date_steps
from .topic_knowledge import TopicKnowledge

__all__ = ["TopicLooks", "look_at_topics"]

logger = logging.getLogger(__name__)


def look_at_topics(group: ShareGroup, topics: TopicLookup, *, is_sure: bool) -> TopicLook | None:
    """The look that a heartbeat acts on; None when nothing has changed, and in a large group until the look is over.

    The topics of a small group are looked at here. ``is_sure``: see `TopicKnowledge`.
    """
    if not group.needs_look or group.look is not None or group.is_large:
        return group.look if group.needs_look else None
    return run_through(_steps(group, topics, is_sure=is_sure))


def _steps(group: ShareGroup, topics: TopicLookup, *, is_sure: bool) -> Generator[None, None, TopicLook]:
    states, targets, target_epoch = group.states, tuple(group.targets.values()), group.target_epoch
    yield from group.subscribers.hash_steps(topics)
    names = yield from sorted_in_steps(tuple(group.subscribers.topics), str, Pace())
    partitions = yield from assignable_steps(states, names, topics)
    is_up_to_date = yield from up_to_date_steps(targets, partitions)
    if is_sure:
        states = yield from without_missing_steps(states, topics)
    states = yield from with_new_partitions_steps(states, names, topics)
    return TopicLook(states, target_epoch, is_up_to_date)


class TopicLooks:
    """Looks at large groups, one look a group at a time. The next heartbeat of a member acts on it."""

    def __init__(self, turns: Turns, topics: TopicLookup, knowledge: TopicKnowledge) -> None:
        self._topics = topics
        self._knowledge = knowledge
        self._running = ComputationsByGroup[TopicLook](turns)
        self._stale: set[str] = set()
        """The groups of which a topic, or a state, changed during the look."""

    def changed(self, group: ShareGroup) -> None:
        """A topic or a state of the group changed."""
        if group.group_id in self._running:
            self._stale.add(group.group_id)
        else:
            self.maybe_begin(group)

    def maybe_begin(self, group: ShareGroup) -> None:
        """Look at the topics of a large group if that is due."""
        is_due = group.needs_look and group.look is None and not group.is_dead
        if not is_due or group.group_id in self._running or not group.is_large:
            return
        group.subscribers.assume_hash(group.metadata_hash)
        steps = _steps(group, self._topics, is_sure=self._knowledge.is_sure(group.group_id))
        self._running.begin(group.group_id, steps, partial(self._end, group), partial(self._fail, group))

    def end(self, group: ShareGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._stale.discard(group.group_id)
        self._running.cancel(group.group_id)

    def _end(self, group: ShareGroup, look: TopicLook) -> None:
        if group.group_id in self._stale:
            self._stale.remove(group.group_id)
            self.maybe_begin(group)
        else:
            group.look = look

    def _fail(self, group: ShareGroup, error: Exception) -> None:
        """The next heartbeat begins another look."""
        self._stale.discard(group.group_id)
        logger.error("group %s: changed topics not looked at", group.group_id, exc_info=error)
