"""The in-sync replicas as the leader knows them: committed by the controller, or changing (KIP-497).

Three variants, so that a change in flight cannot be mistaken for a committed one. ``members`` is the set that the
controller last confirmed; it counts for min.insync.replicas before an append. ``maximal`` is every replica that may be
in the ISR by now. The high watermark waits for all of ``maximal``, so it is safe whether or not the change succeeds.
"""

from dataclasses import dataclass

__all__ = ["CommittedIsr", "IsrState", "PendingExpand", "PendingIsr", "PendingShrink"]


@dataclass(frozen=True, slots=True)
class CommittedIsr:
    """No change in flight."""

    members: frozenset[int]

    @property
    def maximal(self) -> frozenset[int]:
        return self.members


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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
