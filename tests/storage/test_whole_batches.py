"""Whole batches are read one after another while the records before them are deleted."""

from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pybroker.protocol.errors import OffsetOutOfRangeError
from pybroker.protocol.records.batch import iter_batches
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend
from pybroker.storage.log.whole_batches import read_whole_batches
from support.logs.storage_logs import NOW_MS, batch_of, open_log

ALL = 1 << 20


@pytest.fixture
def log(tmp_path: Path) -> Log:
    log = open_log(tmp_path)
    for value in "abcd":
        log.append(LeaderAppend(batch_of(value), 0, NOW_MS))
    return log


def offsets(data: memoryview | None) -> list[int]:
    return [] if data is None else [batch.base_offset for batch in iter_batches(data)]


def test_batches_are_read_whole_up_to_the_size(log: Log) -> None:
    size_bytes = len(batch_of("a"))
    data, behind = read_whole_batches(log, 1, 2 * size_bytes + 1)
    assert (offsets(data), behind) == ([1, 2], 3)
    data, behind = read_whole_batches(log, 3, 1)
    assert (offsets(data), behind) == ([3], 4)


def test_reading_goes_on_at_a_log_start_offset_that_rises_meanwhile(log: Log) -> None:
    read = log.read

    def rising(*arguments: Any) -> object:
        log.increment_log_start_offset(2)
        return read(*arguments)

    with patch.object(log, "read", rising):
        data, behind = read_whole_batches(log, 0, ALL)
    assert (offsets(data), behind) == ([2, 3], 4)


def test_offset_behind_the_log_is_out_of_range(log: Log) -> None:
    with pytest.raises(OffsetOutOfRangeError):
        read_whole_batches(log, 9, ALL)
