"""Moves a clock as a JSON document says: the body of ``POST /v1/test/clock``."""

import json
from collections.abc import Mapping

from .clocks import DEFAULT_WAIT_S, TestClock
from .moves import MOST_TIMERS_MS
from .wall_clock import MOST_AHEAD_MS

__all__ = ["move_clock"]

_KEYS = ("advance_ms", "advance_timers_ms", "freeze")
_WAIT = "wait_ms"
_MOST_WAIT_MS = 600_000


async def move_clock(clock: TestClock, document: Mapping[str, object]) -> dict[str, object]:
    """Move the clock and return ``{"now_ms": …}`` when the work that became due is done.

    The document has one of these keys: ``advance_ms``; ``advance_timers_ms``, which ``silent`` (a list of ids) and
    ``keep_alive`` (true or false) may go with; ``freeze``: true, false to go on, or ms since 1970. ``wait_ms`` may go
    with each. Raises ValueError with a text for the client, and TimeoutError as `TestClock` does.
    """
    given = [key for key in _KEYS if key in document]
    if len(given) != 1:
        raise ValueError(f"one of {', '.join(_KEYS)} is wanted, not {' and '.join(given) or 'none'}")
    act = {"advance_ms": _advance, "advance_timers_ms": _advance_timers, "freeze": _freeze}[given[0]]
    options = {_WAIT, "silent", "keep_alive"} if given == ["advance_timers_ms"] else {_WAIT}
    if unknown := document.keys() - {*given} - options:
        raise ValueError(f"unknown beside {given[0]}: {', '.join(sorted(map(repr, unknown)))}")
    await act(clock, document)
    return {"now_ms": clock.clock_ms()}


async def _advance(clock: TestClock, document: Mapping[str, object]) -> None:
    await clock.advance(ms=_milliseconds(document, "advance_ms"), wait_s=_wait_s(document))


async def _advance_timers(clock: TestClock, document: Mapping[str, object]) -> None:
    silent, keep_alive = document.get("silent", []), document.get("keep_alive", True)
    if not isinstance(silent, list) or not all(isinstance(each, str) for each in silent):
        raise ValueError("silent: a list of texts is wanted")
    if not isinstance(keep_alive, bool):
        raise ValueError("keep_alive: true or false is wanted")
    moved_ms = _milliseconds(document, "advance_timers_ms", MOST_TIMERS_MS)
    await clock.advance_timers(ms=moved_ms, silent=silent, keep_alive=keep_alive, wait_s=_wait_s(document))


async def _freeze(clock: TestClock, document: Mapping[str, object]) -> None:
    match document["freeze"]:
        case True:
            await clock.freeze()
        case False:
            clock.unfreeze()
        case _:
            at_ms = _milliseconds(document, "freeze", clock.clock_ms() + MOST_AHEAD_MS)
            await clock.freeze(at_ms, wait_s=_wait_s(document))


def _wait_s(document: Mapping[str, object]) -> float:
    return _milliseconds(document, _WAIT, _MOST_WAIT_MS) / 1000 if _WAIT in document else DEFAULT_WAIT_S


def _milliseconds(document: Mapping[str, object], key: str, most: int = MOST_AHEAD_MS) -> int:
    value = document[key]
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"{key}: a whole number from 0 to {most} is wanted, not {json.dumps(value):.40}")
    return value
