"""Waits for an effect of other processes until a deadline in seconds; for scripts that have a machine to themselves."""

import time
from collections.abc import Callable

__all__ = ["wait_until"]

_GIVES_UP_AFTER_S = 240
_BETWEEN_CHECKS_S = 0.05


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Polls until the condition holds; an OSError counts as not yet. Raises TimeoutError."""
    deadline_s = time.monotonic() + _GIVES_UP_AFTER_S
    while time.monotonic() < deadline_s:
        try:
            if condition():
                return
        except OSError:
            pass
        time.sleep(_BETWEEN_CHECKS_S)
    raise TimeoutError(f"{what}: not within {_GIVES_UP_AFTER_S} s")
