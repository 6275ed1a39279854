"""What Spark's Python workers leave out of the collections that they make after each task, and what they give back."""

import subprocess
import sys
from pathlib import Path

import pytest
from support.spark.gathered_rows import need_columns

PROGRAM = """
import gc
from pybroker.pipeline.columns.worker_memory import freeze_imports
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


STATUS = Path("/proc/self/status")


@pytest.mark.skipif(not STATUS.exists(), reason="this system does not tell a process's memory there")
def test_columns_that_arrow_lets_go_of_are_given_back_whatever_is_still_in_use() -> None:
    """As in a task that goes on: malloc would keep them below the last ones."""
    need_columns()
    from pybroker.pipeline.columns.row_buffers import RowBuffers

    def resident_mib() -> float:
        (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) / 1024

    def filled() -> RowBuffers:
        buffers = RowBuffers(rows=1 << 16, data_bytes=8 << 20, with_headers=True)
        buffers.arrays.value_data.fill(1)
        return buffers

    filled()  # from here on malloc takes what is as large as this for usual
    held = [filled() for _ in range(20)]
    before = resident_mib()
    del held[:-1]
    assert before - resident_mib() > 19 * 7
