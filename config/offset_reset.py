"""The value of ``share.auto.offset.reset``: earliest, latest, or a duration before now (KIP-932, KIP-1106)."""

import re

from .values import BadValueError, Value

__all__ = ["OffsetResetCheck", "reset_duration_ms"]

_BY_DURATION = "by_duration:"
_DURATION = re.compile(
    r"(?P<sign>[-+]?)P(?:(?P<D>[-+]?\d{1,18})D)?"
    r"(?P<time>T(?:(?P<H>[-+]?\d{1,18})H)?(?:(?P<M>[-+]?\d{1,18})M)?"
    r"(?:(?P<S>[-+]?\d{1,18})(?:[.,](?P<fraction>\d{0,9}))?S)?)?",
    re.ASCII | re.IGNORECASE,
)
"""As ``java.time.Duration`` reads ISO 8601."""
_UNIT_MS = {"D": 86_400_000, "H": 3_600_000, "M": 60_000, "S": 1_000}


def reset_duration_ms(text: str) -> int | None:
    """How long before now the group begins to read, in ms; None for ``earliest`` and ``latest``.

    Raises:
        BadValueError: the text is none of the three.
    """
    if text in ("earliest", "latest"):
        return None
    found = _DURATION.fullmatch(text.removeprefix(_BY_DURATION)) if text.startswith(_BY_DURATION) else None
    if found is None or not any(found[unit] for unit in _UNIT_MS) or found["time"] in ("T", "t"):
        raise BadValueError(f"must be earliest, latest, or {_BY_DURATION} and an ISO 8601 duration such as PT1H")
    ms = sum(int(found[unit] or 0) * unit_ms for unit, unit_ms in _UNIT_MS.items())
    fraction_ms = int((found["fraction"] or "").ljust(9, "0")[:3])
    ms += -fraction_ms if (found["S"] or "").startswith("-") else fraction_ms
    if found["sign"] == "-":
        ms = -ms
    if ms < 0:
        raise BadValueError(f"{_BY_DURATION} must not be followed by a negative duration")
    return ms


class OffsetResetCheck:
    """Earliest, latest, or a duration before now."""

    __slots__ = ()

    def __call__(self, value: Value | None) -> None:
        reset_duration_ms(str(value))

    def __str__(self) -> str:
        return f"[earliest, latest, {_BY_DURATION}PnDTnHnMn.nS]"
