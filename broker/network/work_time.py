"""What a thread's work costs, whatever the machine and the garbage collector do meanwhile."""

import gc
import time
from threading import get_ident
from typing import Any

__all__ = ["work_time_s"]

_collected_s: dict[int, float] = {}
"""By thread: CPU time of the garbage collections that came about in it."""
_began_s: dict[int, float] = {}


def work_time_s() -> float:
    """CPU time of the thread that asks, in s, but for garbage collections: these take tens of milliseconds, and which
    request they meet is chance."""
    return time.thread_time() - _collected_s.get(get_ident(), 0.0)


def _note_collection(phase: str, _info: dict[str, Any]) -> None:
    thread = get_ident()
    now_s = time.thread_time()
    if phase == "start":
        _began_s[thread] = now_s
    elif thread in _began_s:
        _collected_s[thread] = _collected_s.get(thread, 0.0) + now_s - _began_s.pop(thread)


gc.callbacks.append(_note_collection)
