"""Tests of garbage collection and memory of Spark's Python workers."""

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


def test_freeze_imports_freezes_once() -> None:
    """Runs in its own process, so that this process continues to collect."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


STATUS = Path("/proc/self/status")


@pytest.mark.skipif(not STATUS.exists(), reason="this system does not tell a process's memory there")
def test_memory_of_released_columns_returns_to_the_system() -> None:
    """As in a long task, where malloc would keep them below newer blocks."""
    need_columns()
    from pybroker.pipeline.columns.row_buffers import RowBuffers

    def resident_mib() -> float:
        (line,) = [line for line in STATUS.read_text().splitlines() if line.startswith("VmRSS:")]
        return int(line.split()[1]) / 1024

    def filled() -> RowBuffers:
        buffers = RowBuffers(rows=1 << 16, data_bytes=8 << 20, with_headers=True)
        buffers.arrays.value_data.fill(1)
        return buffers

    filled()  # from here on malloc keeps freed blocks of this size
    held = [filled() for _ in range(20)]
    before = resident_mib()
    del held[:-1]
    assert before - resident_mib() > 19 * 7
