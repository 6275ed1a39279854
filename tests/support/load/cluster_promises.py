"""What must be true of what a cluster acknowledged to its clients, whatever befell it.

``read`` is what a consumer finds in a partition, offsets and values from the log's beginning to its end; values are
``name:number``, where name is that of a producer, which counts its records in each partition.
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
    """Never the machine's doing: a test that ends with this one fails the whole run, however it ends the next time."""


def _require(is_kept: bool, otherwise: str) -> None:
    if not is_kept:
        raise BrokenPromiseError(otherwise)


def check_offsets(read: Read, where: str) -> None:
    """They are 0, 1, 2, …: nothing of the topic is ever deleted."""
    _require([offset for offset, _ in read] == list(range(len(read))), f"{where}: gaps")


def check_idempotent(
    name: str,
    sent: int,
    acknowledged: Mapping[int, int],
    read: Read,
    where: str,
    implied: AbstractSet[int] = frozenset(),
) -> None:
    """Each of the ``sent`` numbers once, in order, where it was ``acknowledged`` to be: offsets by number. All were;
    the ``implied`` ones without being told where."""
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
    """Each value is where it was acknowledged to be; it may be elsewhere, too."""
    values = dict(read)
    lost = {value: offset for value, offset in acknowledged.items() if values.get(offset) != value}
    _require(not lost, f"{where}: lost, or moved: {lost}")


def check_seen(
    name: str, acknowledged: Mapping[int, int], committed: int, seen: AbstractSet[bytes], partition: int
) -> None:
    """Who committed an offset was given all that was acknowledged below it."""
    due = {f"{name}:{number}".encode() for number, offset in acknowledged.items() if offset < committed}
    _require(due <= seen, f"not seen in partition {partition}: {sorted(due - seen)}")


def check_committed(group: str, due: Mapping[int, int], found: Mapping[int, int], most: Mapping[int, int]) -> None:
    """No partition's offset is behind the one whose commit was acknowledged, ``due``, nor beyond the ``most`` that was
    ever sent."""
    wrong = [each for each, offset in due.items() if not offset <= found[each] <= most[each]]
    _require(not wrong, f"{group}: partitions {wrong}: {found} is not between {due} and {most}")


def _number(name: str, value: bytes) -> int | None:
    """None: another producer's."""
    prefix = f"{name}:".encode()
    return int(value.removeprefix(prefix)) if value.startswith(prefix) else None
