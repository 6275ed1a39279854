"""A limit on topic changes that the caller of a change may set, such as a quota of its client."""

from collections.abc import Callable

__all__ = ["Permit", "permit_all"]

Permit = Callable[[int], None]
"""Called before a change is written, when it was found valid, with the number of partitions created, added or deleted.
It may be called again when the write is repeated. Raises the error that refuses the change."""


def permit_all(partitions: int) -> None:
    """Refuses nothing."""
