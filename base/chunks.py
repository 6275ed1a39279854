"""Splits a sequence into parts of limited length."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

__all__ = ["chunks"]

Item = TypeVar("Item")


def chunks(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """Parts of ``size`` items in their order; the last part may be shorter."""
    for start in range(0, len(items), size):
        yield items[start : start + size]
