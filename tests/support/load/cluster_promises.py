"""Checks that a cluster kept what it acknowledged to its clients.

`read` holds the offsets and values of a whole partition. Values are `name:number`: a producer's name, and its count of
records in the partition.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

__all__ = [
    "BrokenPromiseError",
    "check_committed",
    "check_idempotent",
    "check_kept",
    "check_offsets",
    "check_seen",
]

Read = Sequence[tuple[int, bytes]]


class BrokenPromiseError(AssertionError):
    """A promise was broken, which is never noise of the machine: the whole run fails, even if the test passes when
    repeated.
    """


def _require(is_kept: bool, otherwise: str) -> None:
    if not is_kept:
        raise BrokenPromiseError(otherwise)


def check_offsets(read: Read, where: str) -> None:
    """Checks that offsets are 0, 1, 2, …: nothing of the topic is ever deleted."""
    _require([offset for offset, _ in read] == list(range(len(read))), f"{where}: gaps")


def check_idempotent(
    name: str,
    sent: int,
    acknowledged: Mapping[int, int],
    read: Read,
    where: str,
    implied: AbstractSet[int] = frozenset(),
) -> None:
    """Checks that each of the `sent` numbers is there once, in order, at its `acknowledged` offset (offsets by number).
    All were acknowledged; the `implied` ones without an offset.
    """
    found = [(number, offset) for offset, value in read if (number := _number(name, value)) is not None]
    numbers = [number for number, _ in found]
    wrong = next((place for place, number in enumerate(numbers) if number != place), len(numbers))
    _require(numbers == list(range(sent)), f"{where}: {numbers[wrong : wrong + 10]} at {wrong}, {sent} were sent")
    moved = {
        number: (offset, acknowledged.get(number))
        for number, offset in found
        if offset != acknowledged.get(number) and number not in implied
    }
    _require(not moved, f"{where}: not where they were acknowledged to be: {moved}")


def check_kept(acknowledged: Mapping[bytes, int], read: Read, where: str) -> None:
    """Checks that each value is at its acknowledged offset; it may be at others too."""
    values = dict(read)
    lost = {value: offset for value, offset in acknowledged.items() if values.get(offset) != value}
    _require(not lost, f"{where}: lost, or moved: {lost}")


def check_seen(
    name: str, acknowledged: Mapping[int, int], committed: int, seen: AbstractSet[bytes], partition: int
) -> None:
    """Checks that a member that committed an offset got all acknowledged records below it."""
    due = {f"{name}:{number}".encode() for number, offset in acknowledged.items() if offset < committed}
    _require(due <= seen, f"not seen in partition {partition}: {sorted(due - seen)}")


def check_committed(group: str, due: Mapping[int, int], found: Mapping[int, int], most: Mapping[int, int]) -> None:
    """Checks that no offset is below `due`, the last acknowledged commit, or above `most`, the highest commit sent."""
    wrong = [each for each, offset in due.items() if not offset <= found[each] <= most[each]]
    _require(not wrong, f"{group}: partitions {wrong}: {found} is not between {due} and {most}")


def _number(name: str, value: bytes) -> int | None:
    """Returns the number; None for another producer's value."""
    prefix = f"{name}:".encode()
    return int(value.removeprefix(prefix)) if value.startswith(prefix) else None
