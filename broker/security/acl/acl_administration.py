"""Creates, finds and deletes ACLs for clients (the three calls of Kafka's AclAuthorizer).

Every broker does it, not only the controller. This broker obeys a change before it answers; others obey when they
have read the notification.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ....base.acls import AclBinding, AclEntry, ResourcePattern
from ....base.chunks import chunks
from ....base.yielding import ITEMS_BETWEEN_YIELDS, with_yields
from ....controller.acl_tree import AclChange, AclContentionError, AclsTooLargeError, AclTree, ChangedAcls
from ....controller.live_acls import LiveAcls
from ....controller.tree.acl_nodes import is_storable
from ....controller.tree.metadata_store import MetadataStoreError
from ....controller.tree.znodes import ZnodeDecodeError
from ....protocol.errors import InvalidRequestError, KafkaError, UnknownServerError
from .acl_filters import AclFilter

__all__ = ["AclAdministration", "DeletedAcls"]

logger = logging.getLogger(__name__)

_AT_ONCE = 100
"""Patterns that are written together: about 2 ms."""


@dataclass(slots=True)
class DeletedAcls:
    """The ACLs that a filter has deleted, with the error of each ACL that could not be deleted.

    ``error``: a pattern that the filter names could not be read, so that nobody knows whether ACLs match.
    """

    acls: dict[AclBinding, KafkaError | None] = field(default_factory=dict)
    error: KafkaError | None = None


class AclAdministration:
    """``live``: the ACLs in force, in which filters look for patterns."""

    def __init__(self, tree: AclTree, live: LiveAcls) -> None:
        self._tree = tree
        self._live = live
        self._changing = asyncio.Lock()  # as in Kafka, the changes of one broker do not get in each other's way

    async def find(self, wanted: AclFilter) -> dict[ResourcePattern, list[AclEntry]]:
        """The ACLs in force that match, in a fixed order."""
        found = {}
        async for pattern in with_yields(await self._matching([wanted], sorted(self._live.acls))):
            entries = self._live.acls.get(pattern, frozenset())
            matching = sorted(entry for entry in entries if wanted.entry.matches(entry))
            if matching:
                found[pattern] = matching
        return found

    async def create(self, bindings: Iterable[AclBinding]) -> dict[AclBinding, KafkaError | None]:
        """Store valid ACLs; returns the error of each that was not stored. To store an ACL again is a success."""
        added: dict[ResourcePattern, set[AclEntry]] = {}
        for binding in bindings:
            added.setdefault(binding.pattern, set()).add(binding.entry)

        def adding(pattern: ResourcePattern) -> AclChange:
            return lambda entries: entries | added[pattern]

        async with self._changing:
            outcomes = await self._update(list(added), adding)
        return {
            AclBinding(pattern, entry): outcome if isinstance(outcome, KafkaError) else None
            for pattern, outcome in outcomes.items()
            for entry in added[pattern]
        }

    async def delete(self, filters: Sequence[AclFilter]) -> list[DeletedAcls]:
        """Delete all ACLs that match. An ACL that matches several filters belongs to the first of them.

        Patterns that a filter names are read from the store, so that it finds ACLs of other brokers just created. Other
        filters look at the ACLs in force on this broker.
        """
        named = {pattern for wanted in filters for pattern in wanted.pattern.named_patterns()}
        named = {pattern for pattern in named if is_storable(pattern.name)}
        async with self._changing:
            patterns = await self._matching(filters, named | self._live.acls.keys())
            outcomes = await self._update(patterns, partial(_removing, filters))
        results = [DeletedAcls() for _ in filters]
        async for pattern, outcome in with_yields(outcomes.items()):
            if isinstance(outcome, KafkaError):
                _report(filters, results, pattern, self._live.acls.get(pattern, ()), outcome)
            else:
                _report(filters, results, pattern, outcome.before - outcome.after, None)
        return results

    async def _matching(
        self, filters: Sequence[AclFilter], patterns: Collection[ResourcePattern]
    ) -> list[ResourcePattern]:
        """The patterns that match a filter. Yields to the loop: there may be many of both."""
        at_once = max(1, ITEMS_BETWEEN_YIELDS // max(1, len(filters)))
        return [
            pattern
            async for pattern in with_yields(list(patterns), at_once)
            if any(wanted.pattern.matches(pattern) for wanted in filters)
        ]

    async def _update(
        self, patterns: Sequence[ResourcePattern], change_of: Callable[[ResourcePattern], AclChange]
    ) -> dict[ResourcePattern, ChangedAcls | KafkaError]:
        """Change each pattern, and obey the changes; returns the change or the error of each."""
        outcomes: dict[ResourcePattern, ChangedAcls | KafkaError] = {}
        for some in chunks(patterns, _AT_ONCE):
            done = await asyncio.gather(*(self._update_one(pattern, change_of(pattern)) for pattern in some))
            outcomes.update(zip(some, done, strict=True))
            try:
                await self._live.refresh(some)
            except MetadataStoreError as error:  # the changes are stored; the next session reads them
                logger.error("changed ACLs are not in force on this broker before its next session: %s", error)
        return outcomes

    async def _update_one(self, pattern: ResourcePattern, change: AclChange) -> ChangedAcls | KafkaError:
        try:
            return await self._tree.update(pattern, change)
        except AclsTooLargeError as error:
            return InvalidRequestError(str(error))
        except (MetadataStoreError, ZnodeDecodeError, AclContentionError) as error:
            logger.error("ACLs of %s not changed: %s", pattern, error)
            return UnknownServerError()


def _removing(filters: Sequence[AclFilter], pattern: ResourcePattern) -> AclChange:
    matching = [wanted.entry for wanted in filters if wanted.pattern.matches(pattern)]
    return lambda entries: frozenset(
        entry for entry in entries if not any(wanted.matches(entry) for wanted in matching)
    )


def _report(
    filters: Sequence[AclFilter],
    results: Sequence[DeletedAcls],
    pattern: ResourcePattern,
    entries: Iterable[AclEntry],
    error: KafkaError | None,
) -> None:
    """Add the deleted entries of a pattern, or those that ``error`` kept, to the results of the filters."""
    matched = False
    for binding in (AclBinding(pattern, entry) for entry in sorted(entries)):
        for wanted, result in zip(filters, results, strict=True):
            if wanted.matches(binding):
                result.acls[binding] = error
                matched = True
                break
    if error is None or matched:
        return
    for wanted, result in zip(filters, results, strict=True):
        if wanted.pattern.matches(pattern):
            result.error = error
