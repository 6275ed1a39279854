"""The replicas of a partition, also during a reassignment (KIP-455)."""

from collections.abc import Iterable, Sequence

from ...base.frozen import frozen

__all__ = ["ReplicaAssignment"]


@frozen
class ReplicaAssignment:
    """``replicas``: all replicas, including those being added or removed; the first is the preferred leader."""

    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def origin(self) -> tuple[int, ...]:
        """The replicas before the reassignment under way."""
        return _without(self.replicas, self.adding)

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the reassignment under way."""
        return _without(self.replicas, self.removing)

    @property
    def is_being_reassigned(self) -> bool:
        return bool(self.adding or self.removing)

    def reassign_to(self, target: Sequence[int]) -> "ReplicaAssignment":
        """The assignment during a move from `origin` to ``target``; the target's replicas come first, in order."""
        full = tuple(dict.fromkeys((*target, *self.origin)))
        return ReplicaAssignment(full, _without(full, self.origin), _without(full, target))

    def without(self, replica: int) -> "ReplicaAssignment":
        gone = (replica,)
        return ReplicaAssignment(
            _without(self.replicas, gone), _without(self.adding, gone), _without(self.removing, gone)
        )


def _without(replicas: Iterable[int], gone: Iterable[int]) -> tuple[int, ...]:
    excluded = set(gone)
    return tuple(replica for replica in replicas if replica not in excluded)
