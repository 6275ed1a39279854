"""Keeps garbage collection short in Spark's Python workers."""

from __future__ import annotations

import gc
from functools import cache


@cache
def freeze_imports() -> None:
    """Excludes the objects that exist at the first call from garbage collection.

    A worker runs a collection after each task, and takes no other task meanwhile. With numba and pyarrow imported it
    would take up to half a second, for objects that live as long as the process.
    """
    gc.freeze()
