"""The in-sync replicas as the leader knows them: committed by the controller, or changing (KIP-497).

Three variants, so that a change in flight cannot be mistaken for a committed one. ``members`` is the set that the
controller last confirmed; it counts for min.insync.replicas before an append. ``maximal`` is every replica that may be
in the ISR by now. The high watermark waits for all of ``maximal``, so it is safe whether or not the change succeeds.
"""

from collections.abc import Iterable
from dataclasses import field
from typing import Self

from ...base.frozen import frozen

__all__ = ["CommittedIsr", "IsrState", "PendingExpand", "PendingIsr", "PendingShrink"]


@frozen
class CommittedIsr:
    """No change in flight. ``left``: the followers that the last change, at ``since_ms``, removed."""

    members: frozenset[int]
    left: frozenset[int] = field(default=frozenset(), compare=False)
    since_ms: int = field(default=0, compare=False)

    @classmethod
    def after(cls, before: "IsrState | None", members: Iterable[int], now_ms: int) -> Self:
        """The ISR ``members`` that replaces ``before``."""
        now = frozenset(members)
        return cls(now, frozenset() if before is None else before.members - now, now_ms)

    @property
    def committed(self) -> Self:
        return self

    @property
    def maximal(self) -> frozenset[int]:
        return self.members


@frozen
class PendingExpand:
    """The controller was asked to add ``joining``. It is in ``maximal`` already, but not in ``members``."""

    committed: CommittedIsr
    joining: int

    @property
    def members(self) -> frozenset[int]:
        return self.committed.members

    @property
    def maximal(self) -> frozenset[int]:
        return self.committed.members | {self.joining}

    @property
    def proposed(self) -> frozenset[int]:
        return self.maximal


@frozen
class PendingShrink:
    """The controller was asked to remove ``leaving``. They count until it agrees, because the request may fail."""

    committed: CommittedIsr
    leaving: frozenset[int]

    @property
    def members(self) -> frozenset[int]:
        return self.committed.members

    @property
    def maximal(self) -> frozenset[int]:
        return self.committed.members

    @property
    def proposed(self) -> frozenset[int]:
        return self.committed.members - self.leaving


PendingIsr = PendingExpand | PendingShrink
IsrState = CommittedIsr | PendingExpand | PendingShrink
