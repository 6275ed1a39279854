"""Moments of ``--reset-offsets``: times such as ``2026-11-25T08:00:00.000``, durations such as ``P1DT2H``."""

import re
import time
from datetime import UTC, datetime

from ...base.command_parser import BAD_INPUT, CommandError

__all__ = ["moment_before", "moment_in"]

_DURATION = re.compile(
    r"([+-]?)P(?:([0-9]{1,9})D)?(?:T(?:([0-9]{1,9})H)?(?:([0-9]{1,9})M)?(?:([0-9]{1,9}(?:\.[0-9]{1,9})?)S)?)?", re.I
)
_SECONDS = (86_400, 3600, 60, 1)


def moment_in(text: str) -> int:
    """Milliseconds since 1970; without a zone the time is UTC. Raises CommandError."""
    if "T" not in text:
        raise CommandError(
            "java.text.ParseException: Error parsing timestamp. It does not contain a 'T' according to ISO8601 format",
            BAD_INPUT,
        )
    try:
        moment = datetime.fromisoformat(text)
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise CommandError(f'Unparseable date: "{text}"', BAD_INPUT) from None


def moment_before(text: str) -> int:
    """The moment that is so long ago, in milliseconds since 1970. Raises CommandError."""
    found = _DURATION.fullmatch(text)
    if found is None or text[-1] in "PpTt":
        raise CommandError("Text cannot be parsed to a Duration", BAD_INPUT)
    seconds = sum(float(part or 0) * unit for part, unit in zip(found.groups()[1:], _SECONDS, strict=True))
    return max(0, round((time.time() - (-seconds if found[1] == "-" else seconds)) * 1000))
