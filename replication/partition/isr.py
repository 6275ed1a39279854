"""The in-sync replicas as the leader knows them: committed by the controller, or on the way there (KIP-497).

Three variants, so that a change in flight cannot be mistaken for a committed one. ``members`` is what the controller
last confirmed and counts for min.insync.replicas before an append; ``maximal`` is every replica that may be in the
ISR by now, and the high watermark waits for all of those: it is safe whichever way the change in flight ends.
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
    """The controller was asked to add ``joining``. It counts as a member already: that only makes the HW stricter."""

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
    """The controller was asked to remove ``leaving``. They count until it agrees: the request may fail."""

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
