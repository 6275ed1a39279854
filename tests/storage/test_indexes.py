"""Look-ups in the offset and time index, in memory and in the file, compared with a linear search."""

from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.storage.files.files import Files
from pybroker.storage.log_config import LogConfig
from pybroker.storage.segment.offset_index import OffsetIndex
from pybroker.storage.segment.time_index import TimeIndex
from support.logs.storage_logs import CRASHED, NOW_MS, append_as_leader, batch_of, close_cleanly, open_log

BASE = 1000


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("indexes")


@given(
    steps=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 5000)), max_size=1500).filter(lambda s: len(s) != 1499),
    closed=st.booleans(),
    data=st.data(),
)
def test_offset_index_finds_the_same_entry_as_a_linear_search(
    directory: Path, steps: list[tuple[int, int]], closed: bool, data: st.DataObject
) -> None:
    index = OffsetIndex(Files(100), str(directory / "x.index"), BASE, 1 << 20)
    index.create()
    entries: list[tuple[int, int]] = []
    offset, position = BASE, 0
    for more, further in steps:
        offset, position = offset + more, position + further
        index.append(offset, position)
        entries.append((offset, position))
    if closed:
        index.deactivate()
        assert (directory / "x.index").stat().st_size == 8 * len(entries)
    for wanted in data.draw(st.lists(st.integers(BASE - 5, offset + 5), min_size=1, max_size=10)):
        below = [entry for entry in entries if entry[0] <= wanted]
        assert index.lookup(wanted) == (below[-1] if below else (BASE, 0))
    wanted = data.draw(st.integers(0, position + 5))
    assert index.upper_bound(wanted) == next((entry for entry in entries if entry[1] >= wanted), None)
    assert index.last() == (entries[-1] if entries else (BASE, 0))
    cut = data.draw(st.integers(BASE, offset + 5))
    index.truncate_to(cut)
    assert [index.lookup(entry[0]) for entry in entries if entry[0] < cut] == [e for e in entries if e[0] < cut]
    assert len(index) == len([entry for entry in entries if entry[0] < cut])
    index.append(offset + 10, position + 10)
    index.deactivate()
    assert index.last() == (offset + 10, position + 10)
    index.close()


@pytest.mark.parametrize("power", [1.0, 0.2, 4.0], ids=["even", "dense at the end", "dense at the begin"])
@pytest.mark.parametrize("count", [0, 1, 511, 512, 513, 5000])
def test_closed_index_of_many_pages_finds_each_offset(count: int, power: float, tmp_path: Path) -> None:
    index = OffsetIndex(Files(100), str(tmp_path / "x.index"), BASE, 1 << 20)
    index.create()
    entries = [(BASE + number + int(1_000_000 * ((number + 1) / count) ** power), number) for number in range(count)]
    for entry in entries:
        index.append(*entry)
    index.deactivate()
    keys = [offset for offset, _ in entries]
    wanted = {BASE, BASE + 2_000_000} | {
        key + more for key in keys[::7] + keys[-2:] + keys[510:514] for more in (-1, 0, 1)
    }
    for offset in wanted:
        slot = bisect_right(keys, offset) - 1
        assert index.lookup(offset) == (entries[slot] if slot >= 0 else (BASE, 0))
    index.close()


@given(
    steps=st.lists(st.tuples(st.integers(0, 5), st.integers(-5, 9)), max_size=800), closed=st.booleans(), data=st.data()
)
def test_time_index_keeps_only_rising_timestamps(
    directory: Path, steps: list[tuple[int, int]], closed: bool, data: st.DataObject
) -> None:
    index = TimeIndex(Files(100), str(directory / "x.timeindex"), BASE, 1 << 20)
    index.create()
    entries: list[tuple[int, int]] = []
    offset, timestamp = BASE, 0
    for more, later in steps:
        offset += more
        timestamp = max(timestamp, timestamp + later)
        added = index.maybe_append(timestamp, offset)
        assert added == (timestamp > (entries[-1][0] if entries else -1))
        if added:
            entries.append((timestamp, offset))
    if closed:
        index.deactivate()
    wanted = data.draw(st.integers(-1, timestamp + 3))
    below = [entry for entry in entries if entry[0] <= wanted]
    assert index.lookup(wanted) == (below[-1] if below else (-1, BASE))
    assert index.last() == (entries[-1] if entries else (-1, BASE))
    cut = data.draw(st.integers(BASE, offset + 5))
    index.truncate_to(cut)
    kept = [entry for entry in entries if entry[1] < cut]
    assert len(index) == len(kept)
    assert index.last() == (kept[-1] if kept else (-1, BASE))
    index.close()


def test_index_entry_is_added_for_the_first_append_after_the_index_interval(tmp_path: Path) -> None:
    size = len(batch_of("x"))
    config = LogConfig(index_interval_bytes=2 * size)
    log = open_log(tmp_path, config)
    for number in range(8):
        append_as_leader(log, batch_of("x", timestamp_ms=NOW_MS + number), 0, NOW_MS)
    expected = [(3, 3 * size), (6, 6 * size)]  # LogSegment.append: bytesSinceLastIndexEntry > indexIntervalBytes
    index = log.segments[0].offset_index
    assert [index.entry(slot) for slot in range(len(index))] == expected
    close_cleanly(log)
    index = open_log(tmp_path, config, CRASHED).segments[0].offset_index
    assert [index.entry(slot) for slot in range(len(index))] == expected


@pytest.mark.parametrize(
    ("index_interval_bytes", "expected"),
    [(0, [(NOW_MS + 3, 1), (NOW_MS + 5, 5)]), (4096, [(NOW_MS + 5, 5)])],
)
def test_time_index_holds_the_first_batch_of_equal_timestamps(
    index_interval_bytes: int, expected: list[tuple[int, int]], tmp_path: Path
) -> None:
    config = LogConfig(index_interval_bytes=index_interval_bytes)
    log = open_log(tmp_path, config)
    for timestamp in (1, 3, 3, 2, 3, 5, 5):
        append_as_leader(log, batch_of("x", timestamp_ms=NOW_MS + timestamp), 0, NOW_MS)
    assert log.segments[0].max_timestamp == (NOW_MS + 5, 5)
    start = close_cleanly(log)
    for again in (open_log(tmp_path, config, start), open_log(tmp_path, config, CRASHED)):
        index = again.segments[0].time_index
        index.activate()
        assert [index.entry(slot) for slot in range(len(index))] == expected
        assert again.segments[0].max_timestamp == (NOW_MS + 5, 5)
        again.close()
