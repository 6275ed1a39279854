"""What Spark's Python workers leave out of the collections that they make after each task."""

import subprocess
import sys

PROGRAM = """
import gc
from pybroker.pipeline.worker_memory import freeze_imports
assert gc.get_freeze_count() == 0
freeze_imports()
frozen = gc.get_freeze_count()
later = [[] for _ in range(1000)]
freeze_imports()
assert gc.get_freeze_count() <= frozen, "only once"
print(frozen > 1000)
"""


def test_what_was_imported_is_frozen_once() -> None:
    """In a process of its own: this one is to go on collecting."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
