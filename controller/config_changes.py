"""Applies changes of settings and of feature levels on every broker (Kafka's ZkConfigManager).

A change writes the entity's node and a notification under /config/changes that names the entity. Each broker watches
the notifications and reads the entity's node for a new one, so it always gets the latest settings. At its start a
broker handles every notification present, because settings may have changed since it read them. Notifications older
than 15 minutes are deleted; a broker without a cluster deletes them after it has handled a hundred.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from .catching_up import CatchingUp
from .features import FeatureLevels
from .tree import znodes
from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import InvalidPathError, SessionEvent
from .tree.znodes import ZnodeDecodeError

__all__ = ["ConfigChanges", "Take"]

logger = logging.getLogger(__name__)

Take = Callable[[str, Mapping[str, str]], Awaitable[None]]
"""``(name, settings)``: applies the new settings of an entity. It also handles settings that it cannot apply.

The name is that of the node below its type: ``orders``, and for a user with a client id ``ann/clients/c``."""

EXPIRATION_MS = 15 * 60 * 1000
MOST_KEPT_ALONE = 100
_NONE_YET = -1


class ConfigChanges:
    """``takers``: the function that applies changes, by entity type (``topics``, ``users``). One change at a time.

    ``is_alone``: no other broker reads the notifications. ``features``: read before each change is applied.
    """

    def __init__(
        self,
        tree: ClusterTree,
        takers: Mapping[str, Take],
        features: FeatureLevels,
        clock_ms: Callable[[], int],
        *,
        is_alone: bool,
    ) -> None:
        self._is_alone = is_alone
        self._tree = tree
        self._takers = takers
        self._features = features
        self._clock_ms = clock_ms
        self._last = _NONE_YET
        self._created_ms: dict[str, int] = {}
        self._catching_up = CatchingUp(self._take_all, "settings", logger)

    async def run(self) -> None:
        """Apply changes until the store is closed. Started once, as a task."""
        self._tree.store.on_session_event(self._on_session_event)
        await self._catching_up.run()

    async def caught_up(self) -> None:
        """Wait until every change written so far is in force on this broker."""
        await self._catching_up.settled()

    def _on_session_event(self, event: SessionEvent) -> None:
        if event is not SessionEvent.DISCONNECTED:
            self._features.outdated()
            self._catching_up.want()  # after an interruption, or to notice the end of the session

    async def _take_all(self) -> None:
        await self._features.read(self._catching_up.on_change)
        notifications = await self._tree.config_changes(self._catching_up.on_change)
        for notification in notifications:
            await self._take(notification)
        await self._purge(notifications)

    async def _take(self, notification: str) -> None:
        try:
            number = znodes.config_change_number(notification)
        except ZnodeDecodeError as error:
            logger.error("a change of settings is ignored: %s", error)
            return
        if number <= self._last:
            return
        found = await self._tree.config_change(notification)
        if found is not None:
            data, self._created_ms[notification] = found
            try:
                await self._tell(znodes.decode_config_change(znodes.config_change_path(notification), data))
            except (ZnodeDecodeError, InvalidPathError) as error:
                # Anyone may have written it; it must not keep this broker from the other changes.
                logger.error("a change of settings is ignored: %s", error)
        self._last = number

    async def _tell(self, entity_path: str) -> None:
        entity_type, _, name = entity_path.partition("/")
        take = self._takers.get(entity_type)
        if take is None or not name:
            logger.debug("settings of %s have no effect on this broker", entity_path)
            return
        await take(name, await self._tree.config(entity_type, name))

    async def _purge(self, notifications: Sequence[str]) -> None:
        present = frozenset(notifications)
        self._created_ms = {name: made for name, made in self._created_ms.items() if name in present}
        oldest_kept_ms = self._clock_ms() - EXPIRATION_MS
        are_heard = self._is_alone and len(self._created_ms) >= MOST_KEPT_ALONE
        spent = [name for name, created_ms in self._created_ms.items() if are_heard or created_ms < oldest_kept_ms]
        await asyncio.gather(*(self._tree.forget_config_change(notification) for notification in spent))
