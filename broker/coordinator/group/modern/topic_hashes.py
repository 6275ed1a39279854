"""Computes the hashes of groups of many topics anew, in turns of the event loop.

**Why.** When a topic changes, the hash of all topics of a group is summed up anew, which takes a tenth of a second for
100,000 topics. Until then heartbeats are decided by the old hash, as if the topic had not changed yet.
"""

import logging
from collections.abc import Callable
from functools import partial

from .subscribed_topics import SubscribedTopics
from .topics import TopicLookup
from .turns import ComputationsByGroup, Turns

__all__ = ["TopicHashes"]

logger = logging.getLogger(__name__)

_FEW = 1_000
"""Topics whose hash a heartbeat may compute."""


class TopicHashes:
    """One computation a group at a time."""

    def __init__(self, turns: Turns, lookup: TopicLookup) -> None:
        self._lookup = lookup
        self._running = ComputationsByGroup[None](turns)
        self._stale: set[str] = set()
        """The groups of which a topic changed during the computation."""

    def takes_long(self, subscribed: SubscribedTopics) -> bool:
        """Whether the hash is to be computed here, and not by the next heartbeat."""
        return len(subscribed.topics) > _FEW

    def begin(self, group_id: str, subscribed: SubscribedTopics, done: Callable[[], None]) -> None:
        """Compute the hash anew, and call ``done``."""
        if group_id in self._running:
            self._stale.add(group_id)
            return
        self._running.begin(
            group_id,
            subscribed.hash_steps(self._lookup),
            lambda result: self._end(group_id, subscribed, done),
            partial(self._fail, group_id, subscribed, done),
        )

    def end(self, group_id: str) -> None:
        """The group was deleted, has another type now, or is coordinated by another broker."""
        self._stale.discard(group_id)
        self._running.cancel(group_id)

    def _end(self, group_id: str, subscribed: SubscribedTopics, done: Callable[[], None]) -> None:
        done()
        if group_id in self._stale:
            self._stale.remove(group_id)
            self.begin(group_id, subscribed, done)

    def _fail(self, group_id: str, subscribed: SubscribedTopics, done: Callable[[], None], error: Exception) -> None:
        logger.error("group %s: hash of topics not computed", group_id, exc_info=error)
        subscribed.forget_hash()
        self._end(group_id, subscribed, done)
