"""Moments as people write them: ``2026-11-25T08:00``, ``90m`` (ago), ``now``, ``@1764057600000`` (milliseconds)."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime

from ...base.command_parser import BAD_INPUT, CommandError

__all__ = ["MOMENTS", "duration_ms", "moment_ms", "moment_text"]

MOMENTS = "a time such as 2026-11-25T08:00 (local, unless it ends with Z or +01:00), 90m (ago), now, or @MILLISECONDS"
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,3})?)(ms|s|m|h|d|w)", re.ASCII)
_MILLISECONDS = re.compile(r"@([0-9]{1,15})", re.ASCII)


def moment_ms(text: str, clock: Callable[[], float] = time.time) -> int:
    """Milliseconds since 1970. Raises CommandError."""
    if text == "now":
        return round(clock() * 1000)
    if found := _MILLISECONDS.fullmatch(text):
        return int(found[1])
    if _DURATION.fullmatch(text):
        return round(clock() * 1000) - duration_ms(text)
    try:
        return round(datetime.fromisoformat(text).timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise CommandError(f"{text}: must be {MOMENTS}", BAD_INPUT) from None


def moment_text(ms: int) -> str:
    """The moment in UTC, such as 2026-11-25 08:00:00Z; as @MILLISECONDS where no calendar has it."""
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(sep=" ", timespec="seconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return f"@{ms}"


def duration_ms(text: str) -> int:
    """The milliseconds of a length of time such as 30s or 1.5h. Raises CommandError."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise CommandError(f"{text}: must be a number with ms, s, m, h, d or w, such as 30s", BAD_INPUT)
    return round(float(found[1]) * _UNITS_MS[found[2]])
