"""Checks consume-transform-produce: the output is the committed input, once and in order."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from support.transactions.transaction_history import Place

__all__ = ["check_copies", "copy_of", "is_copy"]

Values = Sequence[tuple[int, bytes]]
"""Offsets and values."""

_BY = b" copied by "


def copy_of(value: bytes, transaction: bytes) -> bytes:
    """The value that a transaction writes: a copy that is aborted differs from the next one."""
    return value + _BY + transaction


def is_copy(value: bytes) -> bool:
    return _BY in value


def check_copies(
    inputs: Mapping[Place, Values], outputs: Mapping[Place, Values], copied: Mapping[Place, int]
) -> Iterator[str]:
    """``inputs``, ``outputs``: the committed values. ``copied``: the committed offset of each input partition.

    An input partition is copied to one output partition.
    """
    sources = {value: (place, offset) for place, values in inputs.items() for offset, value in values}
    found: dict[Place, list[int]] = {place: [] for place in inputs}
    for place, values in outputs.items():
        for offset, value in values:
            source = sources.get(value.partition(_BY)[0]) if is_copy(value) else None
            if source is None:
                yield f"{place[0]}-{place[1]}: {value!r} at offset {offset} is no copy of a committed record"
            else:
                found[source[0]].append(source[1])
    for place, values in inputs.items():
        expected = [offset for offset, _ in values if offset < copied.get(place, 0)]
        if found[place] != expected:
            end = copied.get(place, 0)
            yield f"{place[0]}-{place[1]}: consumed up to offset {end}, {_difference(found[place], expected)}"


def _difference(found: Sequence[int], expected: Sequence[int]) -> str:
    missing = sorted(set(expected) - set(found))
    extra = sorted(set(found) - set(expected))
    twice = sorted(offset for offset, count in Counter(found).items() if count > 1)
    if missing or extra or twice:
        return f"copies of offsets {missing} are missing, {extra} are too early, {twice} are there twice"
    return f"copies are in the order {list(found)}"
