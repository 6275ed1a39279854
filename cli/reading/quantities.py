"""Amounts as people write them: ``1MB`` (decimal), ``1MiB`` (binary), ``250000``, ``12.5``."""

import math
import re

from ...base.command_parser import BAD_INPUT, CommandError

__all__ = ["bytes_in", "number_in"]

_UNITS: dict[str, int] = {"b": 1} | {
    letter + suffix: base**power
    for power, letter in enumerate("kmgt", start=1)
    for suffix, base in (("", 1000), ("b", 1000), ("ib", 1024))
}
_SIZE = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,6})?) ?([a-z]{0,3})", re.ASCII | re.IGNORECASE)


def bytes_in(text: str) -> float:
    """A number of bytes. Raises CommandError."""
    found = _SIZE.fullmatch(text)
    factor = None if found is None else _UNITS.get(found[2].lower() or "b")
    if found is None or factor is None:
        raise CommandError(f"{text}: must be a number of bytes, such as 1048576, 1MB or 1MiB", BAD_INPUT)
    return float(found[1]) * factor


def number_in(text: str) -> float:
    """A number of at least 0. Raises CommandError."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 <= number < math.inf:
        raise CommandError(f"{text}: must be a number of at least 0", BAD_INPUT)
    return number
