"""The interface of the parts of a replay. Each part takes the records of some key versions, that is of some types."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from ....base.buffer import Buffer
from .base import GroupBase

__all__ = ["ReplayPart", "ReplayedBatch"]


class ReplayedBatch(NamedTuple):
    """The batch of a record. ``producer_id``: None without a transaction. ``appended_at``: its first offset."""

    producer_id: int | None
    appended_at: int


class ReplayPart(Protocol):
    """``groups``: the groups of which the log has a record of this part's types."""

    @property
    def groups(self) -> Mapping[str, GroupBase]: ...

    def apply(self, version: int, key: Buffer, value: Buffer | None, batch: ReplayedBatch) -> None:
        """Apply a record. ``key``: its bytes behind the version. Raises DecodeError, and then changes nothing."""
        ...
