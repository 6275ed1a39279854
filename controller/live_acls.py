"""Keeps the ACLs in force on this broker equal to those in the metadata tree (Kafka's AclAuthorizer).

How: each broker watches the notifications and reads the node that a new one names. When a session was lost, it reads
all nodes, because notifications may have been deleted meanwhile. While the store cannot be reached, the last ACLs
stay in force.

A node that cannot be decoded stops the start. Later, the last ACLs of its pattern stay in force; if there are none,
everything is denied on the pattern's resources until the node can be decoded.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from ..base.acls import EVERY_HOST, EVERY_PRINCIPAL, AclEntry, AclOperation, AclPermission, ResourcePattern
from .acl_tree import Acls, AclTree
from .catching_up import CatchingUp
from .tree import acl_nodes
from .tree.metadata_store import SessionEvent
from .tree.znodes import ZnodeDecodeError

__all__ = ["NOBODY", "LiveAcls", "TakeAcls"]

logger = logging.getLogger(__name__)

EXPIRATION_MS = 15 * 60 * 1000
MOST_KEPT_ALONE = 100
"""A broker without a cluster deletes the notifications after so many."""
NOBODY = frozenset({AclEntry(EVERY_PRINCIPAL, EVERY_HOST, AclOperation.ALL, AclPermission.DENY)})
"""The entries of a pattern whose node was never decoded."""

TakeAcls = Callable[[Acls], None]
"""Applies the new entries of each pattern; a pattern with no entries has no ACLs any more."""


class LiveAcls:
    """``take`` is told of every change. ``is_alone``: no other broker reads the notifications."""

    def __init__(self, tree: AclTree, take: TakeAcls, clock_ms: Callable[[], int], *, is_alone: bool) -> None:
        self.acls: dict[ResourcePattern, frozenset[AclEntry]] = {}
        self._tree = tree
        self._take = take
        self._clock_ms = clock_ms
        self._is_alone = is_alone
        self._last = dict.fromkeys(acl_nodes.CHANGES_PATHS, -1)
        self._created_ms: dict[str, int] = {}
        # Reads are applied in the order in which they were started.
        self._reading = asyncio.Lock()
        self._is_outdated = False
        self._catching_up = CatchingUp(self._catch_up, "ACLs", logger)

    async def load(self) -> None:
        """Read all ACLs, at the start. Raises MetadataStoreError, and ZnodeDecodeError for a node with an error."""
        await self._tree.create_paths()
        self._tree.store.on_session_event(self._on_session_event)
        await self._read_all(may_fail=True)

    async def run(self) -> None:
        """Apply changes until the store is closed. Started as a task, after `load`."""
        await self._catching_up.run()

    async def caught_up(self) -> None:
        """Wait until every change written so far is in force on this broker."""
        await self._catching_up.settled()

    async def refresh(self, patterns: Iterable[ResourcePattern]) -> None:
        """Read these patterns now: a broker that has written ACLs obeys them before it answers."""
        wanted = list(patterns)
        changed: dict[ResourcePattern, frozenset[AclEntry]] = {}
        async with self._reading:
            outcomes = await asyncio.gather(*(self._tree.read(pattern) for pattern in wanted), return_exceptions=True)
            for pattern, outcome in zip(wanted, outcomes, strict=True):
                if isinstance(outcome, frozenset | ZnodeDecodeError):
                    changed[pattern] = self._in_force(pattern, outcome)
                else:
                    raise outcome
            self._apply(changed)

    def _on_session_event(self, event: SessionEvent) -> None:
        if event is SessionEvent.RENEWED:
            self._is_outdated = True
        if event is not SessionEvent.DISCONNECTED:
            self._catching_up.want()

    async def _catch_up(self) -> None:
        if self._is_outdated:
            await self._read_all(may_fail=False)
            return
        for changes_path in acl_nodes.CHANGES_PATHS:
            names = await self._tree.notifications(changes_path, self._catching_up.on_change)
            await self._take_new(changes_path, names)
            await self._purge(changes_path, names)

    async def _read_all(self, *, may_fail: bool) -> None:
        """Read all nodes. The watches are set before, so that no later change is missed."""
        async with self._reading:
            for changes_path in acl_nodes.CHANGES_PATHS:
                names = await self._tree.notifications(changes_path, self._catching_up.on_change)
                self._last[changes_path] = max(self._numbers(changes_path, names), default=self._last[changes_path])
            found = await self._tree.read_all()
            errors = [error for error in found.values() if isinstance(error, ZnodeDecodeError)]
            if may_fail and errors:
                raise errors[0]
            gone = {pattern: frozenset[AclEntry]() for pattern in self.acls if pattern not in found}
            self._apply(gone | {pattern: self._in_force(pattern, entries) for pattern, entries in found.items()})
            self._is_outdated = False

    async def _take_new(self, changes_path: str, names: Iterable[str]) -> None:
        for name in names:
            path = f"{changes_path}/{name}"
            for number in self._numbers(changes_path, [name]):
                if number <= self._last[changes_path] and path in self._created_ms:
                    continue
                notification = await self._tree.notification(path)
                if notification is not None:
                    self._created_ms[path] = notification.created_ms
                    if number > self._last[changes_path]:
                        await self._take_change(path, notification.data)
                self._last[changes_path] = max(number, self._last[changes_path])

    async def _take_change(self, path: str, data: bytes) -> None:
        try:
            pattern = acl_nodes.decode_acl_change(path, data)
        except ZnodeDecodeError as error:  # anyone may have written it; it must not hide the other changes
            logger.error("a change of ACLs is ignored: %s", error)
        else:
            await self.refresh([pattern])

    def _numbers(self, changes_path: str, names: Iterable[str]) -> list[int]:
        numbers = []
        for name in names:
            try:
                numbers.append(acl_nodes.change_number(changes_path, name))
            except ZnodeDecodeError as error:
                logger.error("a change of ACLs is ignored: %s", error)
        return numbers

    async def _purge(self, changes_path: str, names: Iterable[str]) -> None:
        present = {f"{changes_path}/{name}" for name in names}
        created = {path: ms for path, ms in self._created_ms.items() if path in present}
        others = {path: ms for path, ms in self._created_ms.items() if not path.startswith(f"{changes_path}/")}
        self._created_ms = others | created
        oldest_kept_ms = self._clock_ms() - EXPIRATION_MS
        are_heard = self._is_alone and len(created) >= MOST_KEPT_ALONE
        await self._tree.forget([path for path, ms in created.items() if are_heard or ms < oldest_kept_ms])

    # -- ACLs in force

    def _in_force(self, pattern: ResourcePattern, read: frozenset[AclEntry] | ZnodeDecodeError) -> frozenset[AclEntry]:
        if not isinstance(read, ZnodeDecodeError):
            return read
        kept = self.acls.get(pattern)
        if kept is None or kept == NOBODY:
            logger.error("everything is denied on %s until its ACLs can be decoded: %s", pattern, read)
            return NOBODY
        logger.error("the last ACLs of %s stay in force, because the new ones cannot be decoded: %s", pattern, read)
        return kept

    def _apply(self, read: Acls) -> None:
        changed = {
            pattern: entries for pattern, entries in read.items() if entries != self.acls.get(pattern, frozenset())
        }
        for pattern, entries in changed.items():
            if entries:
                self.acls[pattern] = entries
            else:
                del self.acls[pattern]
        if changed:
            self._take(changed)
