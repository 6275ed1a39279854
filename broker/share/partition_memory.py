"""Memory used by the share partitions that this broker leads (limit: ``pybroker.share.states.max.bytes``).

Each record in flight counts as much as it may take: its member may acknowledge it in another way than its neighbours.
An acknowledgement therefore needs no more memory and is never refused for it, so that no record is delivered again.
While the account is full, no share partition is added, and fetches acquire only records that are in flight: these are
counted already, and give back their memory only when members have acknowledged them. Fetches that wait meanwhile look
again when the account is not full any more.
"""

import logging
from collections.abc import Callable

from ...base.quiet_lines import QUIET
from ...base.timers import Scheduler
from ...protocol.errors import UnknownServerError
from ...protocol.text_size import text_bytes
from ..coordinator.entry_memory import EntryMemory
from .share_partition import SharePartition

__all__ = ["PartitionMemory", "ShareMemory"]

logger = logging.getLogger(__name__)

_PARTITION_BYTES = 3_000
_RECORD_BYTES = 270
"""A run of one record, while its change is being stored. Measured: 259 bytes."""


class ShareMemory(EntryMemory):
    """The account of all share partitions. ``waiting``: called, each once, when the account is not full any more."""

    __slots__ = ("_is_waking", "_scheduler", "waiting")

    def __init__(self, max_bytes: int, scheduler: Scheduler) -> None:
        super().__init__(max_bytes)
        self.waiting: dict[Callable[[], None], None] = {}
        self._scheduler = scheduler
        self._is_waking = False

    def call_when_not_full(self, wake: Callable[[], None]) -> None:
        """Call ``wake`` once, when the account is not full any more, if it is full."""
        if not self.has_space_for(0):
            self.waiting[wake] = None

    def add(self, size_bytes: int) -> None:
        """Count so much more memory, or less."""
        self.used_bytes += size_bytes
        if self.waiting and not self._is_waking:
            self._is_waking = True
            self._scheduler.call_soon(self._wake_one)

    def _wake_one(self) -> None:
        """Call one in a turn of the event loop: it may fill the account again."""
        self._is_waking = False
        if self.waiting and self.has_space_for(0):
            wake = next(iter(self.waiting))
            del self.waiting[wake]
            wake()
            self.add(0)


class PartitionMemory:
    """The part of ``account`` that a share partition takes: nothing before `begin` and after `give_back`."""

    __slots__ = ("_account", "_group_id", "_is_held", "_own_bytes")

    def __init__(self, account: ShareMemory, group_id: str) -> None:
        self._account = account
        self._group_id = group_id
        self._is_held = False
        self._own_bytes = 0

    def begin(self) -> None:
        """The share partition is in memory. Raises UnknownServerError, after which Kafka's consumers fetch again, when
        the account is full."""
        if not self.has_space():
            raise UnknownServerError("There is no space for the share partition (pybroker.share.states.max.bytes).")
        self._is_held = True
        self._set(_PARTITION_BYTES + text_bytes(self._group_id))

    def has_space(self) -> bool:
        """Whether the account is not full, so that new records may be acquired or a share partition added."""
        if self._account.has_space_for(0):
            return True
        logger.warning(
            "group %s: no new record acquired: pybroker.share.states.max.bytes is reached", self._group_id, extra=QUIET
        )
        return False

    def count(self, records: SharePartition) -> None:
        """Other records may be in flight than before. Offsets without records are runs of many."""
        if self._is_held:
            most = min(records.in_flight, 2 * records.max_locks)
            self._set(_PARTITION_BYTES + text_bytes(self._group_id) + _RECORD_BYTES * most)

    def give_back(self) -> None:
        """The share partition is forgotten."""
        self._is_held = False
        self._set(0)

    def _set(self, own_bytes: int) -> None:
        self._account.add(own_bytes - self._own_bytes)
        self._own_bytes = own_bytes
