"""The interface of assignors: from members and topics to an assignment for each member."""

from collections.abc import Generator, Mapping
from typing import NamedTuple, Protocol, TypeVar
from uuid import UUID

from ..assignment import Assignment

__all__ = ["Assigned", "Assignor", "GroupSpec", "MemberSpec", "assign", "run_through"]

Result = TypeVar("Result")

Assigned = dict[str, Assignment]
"""The new assignment of each member, by its id."""


class MemberSpec(NamedTuple):
    """``topic_ids``: the topics that the member subscribes to. ``target``: its assignment until now."""

    instance_id: str | None
    topic_ids: frozenset[UUID]
    target: Assignment


class GroupSpec(NamedTuple):
    """``partition_counts``: of each subscribed topic that exists. ``is_homogeneous``: whether all members subscribe to
    the same topics."""

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[UUID, int]
    is_homogeneous: bool


class Assignor(Protocol):
    """An assignor without state. The same spec always gives the same result."""

    @property
    def name(self) -> str: ...

    def steps(self, spec: GroupSpec) -> Generator[None, None, Assigned]:
        """Compute the assignment in steps of less than a millisecond, however large the group is."""
        ...


def run_through(steps: Generator[None, None, Result]) -> Result:
    """Take all steps at once, and return the result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result


def assign(assignor: Assignor, spec: GroupSpec) -> Assigned:
    """The assignment, computed at once."""
    return run_through(assignor.steps(spec))
