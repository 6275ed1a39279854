"""The table of offsets by key behaves like a dict."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.record import Record, build_batch
from pybroker.storage.compaction.key_table import SLOT_BYTES, KeyTable
from pybroker.storage.compaction.offset_map import ENTRY_BYTES, OffsetMap

KEYS = st.one_of(st.sampled_from([b"", b"a", b"k" * 31, b"k" * 5000]), st.binary(max_size=3))


@given(st.lists(st.tuples(KEYS, st.integers(0, (1 << 63) - 1))), st.lists(KEYS))
def test_key_table_holds_the_same_offsets_as_a_dict(puts: list[tuple[bytes, int]], others: list[bytes]) -> None:
    table, expected = KeyTable(1 << 14, 0.9), dict[bytes, int]()
    for key, offset in puts:
        table[key] = expected[key] = offset
        assert len(table) == len(expected)
    for key in (*expected, *others):
        assert table.get(key, -7) == expected.get(key, -7)


@pytest.mark.parametrize("load_factor", [0.9, 1.0])
@pytest.mark.parametrize("slots", [1, 2, 3, 4, 100, 65_536])
def test_full_key_table_finds_every_key_and_no_other(slots: int, load_factor: float) -> None:
    table = KeyTable(slots * SLOT_BYTES, load_factor)
    assert 1 <= table.limit <= max(slots, 1)
    chance = random.Random(slots)
    keys = {chance.randbytes(8): number for number in range(table.limit)}
    for key, number in keys.items():
        table[key] = number
    assert len(table) == table.limit
    assert all(table.get(key, -1) == number for key, number in keys.items())
    assert all(table.get(chance.randbytes(9), -1) == -1 for _ in range(1000))


def test_key_table_takes_as_many_keys_as_kafkas_in_the_same_memory() -> None:
    memory = 4 << 20
    slots = memory // 24
    assert slots * 0.9 * 0.999 < KeyTable(memory, 0.9).limit <= slots * 0.9


def test_offset_map_restarted_as_a_table_takes_more_keys() -> None:
    records = [Record(number, 0, b"%d" % number, b"") for number in range(30)]
    batch = RecordBatch(build_batch(records), 0)
    offset_map = OffsetMap(10 * ENTRY_BYTES, 1.0)
    assert not offset_map.add(batch, 0)
    assert (len(offset_map.offsets), offset_map.latest_offset) == (10, 9)
    offset_map.restart_as_table()
    assert (len(offset_map.offsets), offset_map.latest_offset) == (0, -1)
    assert offset_map.add(batch, 0)
    assert [offset_map.offsets.get(b"%d" % number, -1) for number in range(30)] == list(range(30))
    assert offset_map.latest_offset == 29
