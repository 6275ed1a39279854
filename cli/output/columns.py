"""The columns of a table: which value of a row they show, and how a value becomes text."""

from collections.abc import Callable
from typing import Any

from ...base.frozen import frozen
from ...base.printable import printable

__all__ = ["Column", "as_text", "bytes_text", "counted", "duration_text"]


@frozen
class Column:
    """One column. ``value``: what it shows of a row. ``is_wide``: shown with ``-o wide`` only."""

    title: str
    value: Callable[[Any], Any]
    is_wide: bool = False


def as_text(value: Any) -> str:
    """The text of a value in a table: ``-`` for None, items with commas, numbers of records with separators."""
    if value is None or value == ():
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}"
    if isinstance(value, (tuple, list)):
        return ",".join(printable(str(each)) for each in value)
    return printable(str(value))


def counted(count: int, noun: str) -> str:
    """A number with its noun, such as "1 broker" or "1,200 partitions"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def bytes_text(size: int | None) -> str | None:
    """A size as people read it, such as 41.2 GiB."""
    if size is None:
        return None
    amount, unit = float(size), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if amount < 1024:
            break
        amount, unit = amount / 1024, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"


def duration_text(seconds: float | None) -> str | None:
    """A length of time in its two largest units, such as 4 m 12 s."""
    if seconds is None:
        return None
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    whole = round(seconds)
    for size, unit, smaller_size, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller_size
            return f"{whole // size} {unit} {rest} {smaller}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"
