"""Polls for an effect of another process that sends no event, and fails with the name of the missing effect.

Attempts are counted instead of seconds, because on a busy machine both attempts and the effect take longer. The pause
between attempts grows, because an attempt may ask several brokers, which then have less time for the effect.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["BETWEEN_LOOKS_S", "HANGS_AFTER_S", "LOOKS", "READS", "await_answer", "await_that", "await_thread"]

LOOKS = 12_000
_USUAL_LOOKS = LOOKS // 2
BETWEEN_LOOKS_S = 0.01
_MOST_BETWEEN_LOOKS_S = 0.1
_GROWTH = 1.1
"""Each pause is so many times as long as the one before. The longest is reached within a second."""
HANGS_AFTER_S = 240
"""Seconds after which a wait for a condition or a thread's end counts as a hang."""

READS = 600
"""Number of empty polls of a second each after which a consumer expects no more records."""

Answer = TypeVar("Answer")


def await_answer(
    ask: Callable[[], Answer], is_so: Callable[[Answer], bool], what: str, looks: int = _USUAL_LOOKS
) -> Answer:
    """Call ``ask`` until its result meets the condition; return it. ``what`` names the effect in the failure."""
    answer = ask()
    pause_s = BETWEEN_LOOKS_S
    for _ in range(looks - 1):
        if is_so(answer):
            return answer
        time.sleep(pause_s)
        pause_s = min(pause_s * _GROWTH, _MOST_BETWEEN_LOOKS_S)
        answer = ask()
    assert is_so(answer), f"{what}: not after {looks} looks; the last answer was {answer!r}"
    return answer


def await_that(condition: Callable[[], object], what: str, looks: int = _USUAL_LOOKS) -> None:
    """Poll until the condition holds."""
    await_answer(condition, bool, what, looks)


def await_thread(thread: threading.Thread, what: str) -> None:
    """Join a thread that is about to end."""
    thread.join(HANGS_AFTER_S)
    assert not thread.is_alive(), f"{what}: it still runs after {HANGS_AFTER_S} s"
