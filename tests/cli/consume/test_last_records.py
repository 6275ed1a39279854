"""The last records of a partition are found in any log; a model of the reader stands for the brokers."""

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.cli.consume import last_records
from pybroker.client.fetching.partition_reader import Batches
from pybroker.protocol.records.record import Record, build_batch, read_records
from support.record_bytes import batch_at

AT = TopicPartition("t", 0)
GAPS = st.lists(st.sampled_from([0, 0, 0, 1, 7, 100_000]), min_size=1, max_size=6)


@given(log=st.lists(GAPS, max_size=6), cut=st.integers(0, 9), behind=st.integers(0, 3), count=st.integers(0, 12))
def test_last_records_are_found_between_any_gaps(log: list[list[int]], cut: int, behind: int, count: int) -> None:
    end, batches = 0, []
    for gaps in log:
        offsets = []
        for gap in gaps:
            offsets.append(end + gap)
            end += gap + 1
        batches.append(batch_at(build_batch([Record(offset, 0, None, b"v") for offset in offsets])))
    there = [offset for batch in batches for offset in _offsets(batch) if offset >= cut]
    end = max(end, cut) + behind

    class ModelReader:
        def __init__(self, _: Any, starts: dict[TopicPartition, int], ends: dict[TopicPartition, int], *__: Any):
            self.start, self.end = starts[AT], ends[AT]

        def batches(self) -> Iterator[Batches]:
            found = [each for each in batches if each.last_offset >= self.start and each.base_offset < self.end]
            yield Batches(AT, found, self.start, self.end)

    cluster: Any = None
    with patch.object(last_records, "PartitionReader", ModelReader):
        start = last_records.starts_of_last(cluster, {AT: cut}, {AT: end}, count, print)[AT]
    assert cut <= start <= end
    assert [offset for offset in there if offset >= start] == there[max(0, len(there) - count) :]


def _offsets(batch: Any) -> list[int]:
    return [record.offset for record in read_records(batch)]
