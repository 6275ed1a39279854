"""The parts of the log store that several of its components share, as one value."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..workers.worker_pool import Pool
from .checkpoints import Checkpoints
from .log_directories import LogDirectories
from .log_table import LogTable


class StoreParts(NamedTuple):
    """`clock` returns ms since 1970."""

    pool: Pool
    clock: Callable[[], int]
    table: LogTable
    directories: LogDirectories
    checkpoints: Checkpoints
