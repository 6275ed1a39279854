"""Kafka's UniformAssignor: members get equally many partitions, and keep as many of their own as that allows.

**How.** When all members subscribe to the same topics, each keeps its partitions up to its share, and the rest goes to
the members below theirs (`even_shares.py`). Else partitions without a member go to the subscriber with the fewest, and
then some move from members with many to members with few (`least_loaded.py`).
"""

from collections.abc import Generator

from .assignor import Assigned, GroupSpec
from .even_shares import even_shares
from .least_loaded import least_loaded

__all__ = ["UniformAssignor"]


class UniformAssignor:
    """Does not look at racks, as in Kafka 4.2."""

    name = "uniform"

    def steps(self, spec: GroupSpec) -> Generator[None, None, Assigned]:
        return (yield from even_shares(spec) if spec.is_homogeneous else least_loaded(spec))
