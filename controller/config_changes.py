"""How changed settings reach every broker (Kafka's ZkConfigManager and ZkNodeChangeNotificationListener).

Who changes the settings of an entity writes them into its node, and a notification under /config/changes that names
the entity. Each broker watches the notifications, and reads the entity's settings when a new one comes: so they are
always the latest, and several notifications of one entity do no harm. At its start it goes through all that are there,
for the sake of changes made since it read the settings. Whoever sees one that is older than 15 minutes deletes it. Each
change goes through all that are there: a broker that is alone deletes them when it has taken a hundred.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence

from .tree import znodes
from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import MetadataStoreError, SessionEvent, SessionExpiredError, StoreClosedError, WatchEvent
from .tree.znodes import ZnodeDecodeError

__all__ = ["ConfigChanges", "Take"]

logger = logging.getLogger(__name__)

Take = Callable[[str, Mapping[str, str]], Awaitable[None]]
"""``(name, settings)``: the settings of an entity have changed to these. It deals with settings it can't act on."""

EXPIRATION_MS = 15 * 60 * 1000
MOST_KEPT_ALONE = 100
RETRY_SECONDS = 1.0
_NONE_YET = -1


class ConfigChanges:
    """``takers``: by entity type (``topics``, ``brokers``), who is told. One change at a time, in their order.

    ``is_alone``: no other broker is to hear of the changes.
    """

    def __init__(
        self, tree: ClusterTree, takers: Mapping[str, Take], clock_ms: Callable[[], int], *, is_alone: bool
    ) -> None:
        self._is_alone = is_alone
        self._tree = tree
        self._takers = takers
        self._clock_ms = clock_ms
        self._last = _NONE_YET
        self._created_ms: dict[str, int] = {}
        self._wanted = asyncio.Event()
        self._settled = asyncio.Event()
        self._retry: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Take changes until the store is closed. Started once, as a task."""
        self._tree.store.on_session_event(self._on_session_event)
        self._wanted.set()
        try:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                try:
                    await self._take_all()
                except SessionExpiredError as error:  # all that came meanwhile are there when there is another
                    logger.info("changes of settings are not heard of for as long as there is no session: %s", error)
                if not self._wanted.is_set():
                    self._settled.set()
        except StoreClosedError as error:
            logger.info("changes of settings are not heard of any more: %s", error)
        finally:
            self._settled.set()
            if self._retry is not None:
                self._retry.cancel()

    async def caught_up(self) -> None:
        """Wait until the changes whose writing has ended are in force here."""
        await self._settled.wait()

    def _want(self) -> None:
        self._wanted.set()
        self._settled.clear()

    def _on_change(self, _event: WatchEvent) -> None:
        self._want()

    def _on_session_event(self, event: SessionEvent) -> None:
        if event is not SessionEvent.DISCONNECTED:
            self._want()  # after an interruption; or to find out that it is over

    async def _take_all(self) -> None:
        try:
            notifications = await self._tree.config_changes(self._on_change)
            for notification in notifications:
                await self._take(notification)
            await self._purge(notifications)
        except (SessionExpiredError, StoreClosedError):
            raise
        except MetadataStoreError as error:
            logger.error("changes of settings cannot be read, in %s s again: %s", RETRY_SECONDS, error)
            self._retry = asyncio.get_running_loop().call_later(RETRY_SECONDS, self._want)

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
            except ZnodeDecodeError as error:
                # Written by whomever: it must not keep this broker from the others.
                logger.error("a change of settings is ignored: %s", error)
        self._last = number

    async def _tell(self, entity_path: str) -> None:
        entity_type, _, name = entity_path.partition("/")
        take = self._takers.get(entity_type)
        if take is None or not name:
            logger.debug("nobody here asks for the settings of %s", entity_path)
            return
        await take(name, await self._tree.config(entity_type, name))

    async def _purge(self, notifications: Sequence[str]) -> None:
        present = frozenset(notifications)
        self._created_ms = {name: made for name, made in self._created_ms.items() if name in present}
        oldest_kept_ms = self._clock_ms() - EXPIRATION_MS
        are_heard = self._is_alone and len(self._created_ms) >= MOST_KEPT_ALONE
        spent = [name for name, created_ms in self._created_ms.items() if are_heard or created_ms < oldest_kept_ms]
        await asyncio.gather(*(self._tree.forget_config_change(notification) for notification in spent))
