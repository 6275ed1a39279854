"""Reads and writes the ACLs of the metadata tree (Kafka's AclAuthorizer, KafkaZkClient).

Every broker may write, not only the controller. A write merges the change into the node's entries and is conditional
on the node's version, so that two writers lose nothing. The node and its notification change in one transaction.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple

from ..base.acls import CONCRETE_RESOURCE_TYPES, AclEntry, ResourcePattern
from .tree import acl_nodes
from .tree.config_tree import all_found
from .tree.metadata_store import (
    ANY_VERSION,
    BadVersionError,
    Check,
    ConnectionLossError,
    Create,
    Delete,
    MetadataStore,
    MetadataStoreError,
    NodeExistsError,
    NoNodeError,
    Operation,
    SetData,
    Watch,
    ensure,
)
from .tree.znodes import ZnodeDecodeError

__all__ = ["AclChange", "AclContentionError", "AclTree", "Acls", "AclsTooLargeError", "ChangedAcls", "Notification"]

MOST_TRIES = 11
"""As in Kafka: one try and ten more after conflicts."""
MOST_BYTES = 900_000
"""The largest node. ZooKeeper closes connections that send more than 1 MiB (``jute.maxbuffer``)."""
_NODES_AT_A_TIME = 1000

Acls = Mapping[ResourcePattern, frozenset[AclEntry]]
AclChange = Callable[[frozenset[AclEntry]], frozenset[AclEntry]]
"""Makes the new entries of a pattern from the present ones. It is called again after a conflict."""


class AclContentionError(Exception):
    """Other writers changed the same ACLs at each of `MOST_TRIES` tries. Nothing was written."""


class AclsTooLargeError(Exception):
    """The ACLs of one pattern would exceed `MOST_BYTES`. Nothing was written."""


class ChangedAcls(NamedTuple):
    """The entries of a pattern before and after a write."""

    before: frozenset[AclEntry]
    after: frozenset[AclEntry]


class Notification(NamedTuple):
    """A notification that exists: its path, data, and time of creation in ms."""

    path: str
    data: bytes
    created_ms: int


class AclTree:
    """All methods may raise `MetadataStoreError`. ``wait``: waits for 100 to 150 ms after a conflict."""

    def __init__(self, store: MetadataStore, wait: Callable[[], Awaitable[None]]) -> None:
        self.store = store
        self._wait = wait

    async def create_paths(self) -> None:
        """Create the parents of the nodes, unless they exist."""
        present = await asyncio.gather(*(self.store.exists(path) for path in acl_nodes.ACL_PATHS))
        for path, stat in zip(acl_nodes.ACL_PATHS, present, strict=True):
            if stat is None:
                await ensure(self.store, path)

    # -- reading

    async def read(self, pattern: ResourcePattern) -> frozenset[AclEntry]:
        """The entries of a pattern; empty if it has none. Raises ZnodeDecodeError."""
        return (await self._read_version(pattern))[0]

    async def read_all(self) -> dict[ResourcePattern, frozenset[AclEntry] | ZnodeDecodeError]:
        """The entries of each pattern that has a node, or the error of a node that cannot be decoded."""
        patterns = await self._patterns()
        found: dict[ResourcePattern, frozenset[AclEntry] | ZnodeDecodeError] = {}
        for start in range(0, len(patterns), _NODES_AT_A_TIME):
            some = patterns[start : start + _NODES_AT_A_TIME]
            reads = await all_found({pattern: self.store.get(acl_nodes.acl_path(pattern)) for pattern in some})
            for pattern, (data, _) in reads.items():
                try:
                    found[pattern] = acl_nodes.decode_acls(acl_nodes.acl_path(pattern), data)
                except ZnodeDecodeError as error:
                    found[pattern] = error
        return found

    async def _patterns(self) -> list[ResourcePattern]:
        places = {
            (kind, pattern_type): self.store.children(acl_nodes.acl_type_path(kind, pattern_type))
            for kind in CONCRETE_RESOURCE_TYPES
            for pattern_type in acl_nodes.PATTERN_TYPES
        }
        return [
            ResourcePattern(kind, name, pattern_type)
            for (kind, pattern_type), names in (await all_found(places)).items()
            for name in names
        ]

    # -- writing

    async def update(self, pattern: ResourcePattern, change: AclChange) -> ChangedAcls:
        """Change the entries of a pattern, and notify every broker. A pattern without entries has no node.

        Raises ZnodeDecodeError if the present entries cannot be decoded, AclContentionError and AclsTooLargeError.
        """
        maybe_changed: frozenset[AclEntry] = frozenset()
        for remaining in range(MOST_TRIES - 1, -1, -1):
            before, version = await self._read_version(pattern)
            after = change(before)
            try:
                await self._write(pattern, before, after, version)
            except ConnectionLossError:
                maybe_changed |= before  # the next read tells whether it was written
            except (BadVersionError, NodeExistsError, NoNodeError):
                if remaining:
                    await self._wait()
            else:
                return ChangedAcls(before | maybe_changed, after)
        raise AclContentionError(f"ACLs of {pattern} not changed: other writers were faster {MOST_TRIES} times")

    async def _read_version(self, pattern: ResourcePattern) -> tuple[frozenset[AclEntry], int | None]:
        """The entries, and the version of the node; None: there is no node."""
        path = acl_nodes.acl_path(pattern)
        try:
            data, stat = await self.store.get(path)
        except NoNodeError:
            return frozenset(), None
        return acl_nodes.decode_acls(path, data), stat.version

    async def _write(
        self, pattern: ResourcePattern, before: frozenset[AclEntry], after: frozenset[AclEntry], version: int | None
    ) -> None:
        path = acl_nodes.acl_path(pattern)
        if version is None and not after:
            await self._confirm_absence(path)
            return
        data = acl_nodes.encode_acls(after)
        if len(data) > MOST_BYTES and len(after) > len(before):
            raise AclsTooLargeError(
                f"{len(after)} ACLs of {pattern} have {len(data)} bytes; the limit is {MOST_BYTES}."
            )
        if version is None:
            write: Operation = Create(path, data)
        elif after == before and after:
            # The server may have answered the read with old data; a check of the version is never answered so.
            await self.store.multi([Check(path, version)])
            return
        elif after:
            write = SetData(path, data, version)
        else:
            write = Delete(path, version)
        prefix = acl_nodes.change_prefix(pattern.pattern_type)
        await self.store.multi([write, Create(prefix, acl_nodes.encode_acl_change(pattern), sequential=True)])

    async def _confirm_absence(self, path: str) -> None:
        """Raises NodeExistsError if there is a node that the server did not know when it was read."""
        try:
            await self.store.multi([Check(path, ANY_VERSION)])
        except NoNodeError:
            return
        raise NodeExistsError(path)

    # -- notifications

    async def notifications(self, changes_path: str, watch: Watch | None = None) -> list[str]:
        """The names of the existing notifications under one of `CHANGES_PATHS`, oldest first."""
        return await self.store.children(changes_path, watch)

    async def notification(self, path: str) -> Notification | None:
        """A notification; None if it is gone."""
        try:
            data, stat = await self.store.get(path)
        except NoNodeError:
            return None
        return Notification(path, data, stat.ctime_ms)

    async def forget(self, paths: Sequence[str]) -> None:
        """Delete notifications; another broker may have been faster."""
        outcomes = await asyncio.gather(*(self.store.delete(path) for path in paths), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, MetadataStoreError) and not isinstance(outcome, NoNodeError):
                raise outcome
