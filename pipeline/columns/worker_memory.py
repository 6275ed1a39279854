"""What a Python worker of Spark's keeps in memory from task to task."""

from __future__ import annotations

import gc
from functools import cache


@cache
def freeze_imports() -> None:
    """Leaves what is in memory now out of this process's collections of garbage, from the first call on.

    A worker collects after each task and takes no other one meanwhile. With numba and pyarrow imported that takes up to
    half a second, for objects that live as long as the process.
    """
    gc.freeze()
