"""Chooses the partition of each record and gathers records into batches.

A key chooses its partition as in Kafka's Java client. Records without a key fill a batch of one partition, then a batch
of another one.
"""

import random
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import accumulate

from ...base.topic_partition import TopicPartition
from ...client.pace import Pace
from ...client.producing.batch_producer import BatchProducer
from ...client.producing.murmur2 import partition_of_key
from ...protocol.records.record import Record
from ..gentle_interrupt import Waiting

__all__ = ["Batching"]

_VALUE_OVERHEAD, _RECORD_OVERHEAD, _HEADER_OVERHEAD = 16, 24, 10
_PARTS_A_SECOND = 10


class Batching:
    """`partitions`: the number of partitions. `fixed`: the partition of all records; None: chosen by key.

    `waiting`: a context in which the time for the next records is waited for.
    """

    def __init__(
        self,
        producer: BatchProducer,
        topic: str,
        partitions: int,
        *,
        fixed: int | None,
        batch_bytes: int,
        rate: float | None,
        waiting: Waiting = nullcontext,
        choose: Callable[[Sequence[int]], int] = random.choice,
    ) -> None:
        self._producer = producer
        self._topic = topic
        self._partitions = partitions
        self._fixed = fixed
        self._batch_bytes = batch_bytes
        self._pace = Pace(rate)
        self._waiting: Waiting = nullcontext if rate is None else waiting
        self._most = None if rate is None else max(1, int(rate / _PARTS_A_SECOND))
        self._choose = choose
        self._sticky = self._another()
        self._gathered: dict[int, list[Record]] = {}
        self._sizes: dict[int, int] = {}

    def add_values(self, values: list[bytes]) -> None:
        """Send records that have only values."""
        while values:
            part, values = self._fitting(values)
            self._wait_for(len(part))
            at = TopicPartition(self._topic, self._sticky)
            self._producer.send_values(at, part, time.time_ns() // 1_000_000)
            self._sticky = self._another()

    def add(self, record: Record) -> None:
        """Gather a record, and send what is complete."""
        partition = self._partition_of(record.key)
        size = _RECORD_OVERHEAD + len(record.key or b"") + len(record.value or b"")
        for name, value in record.headers:
            size += _HEADER_OVERHEAD + 4 * len(name) + len(value or b"")
        gathered = self._gathered.setdefault(partition, [])
        if gathered and (self._sizes[partition] + size > self._most_bytes() or len(gathered) == self._most):
            self._send(partition)
            self.add(record)  # a record without a key may get another partition now
            return
        gathered.append(record)
        self._sizes[partition] = self._sizes.get(partition, 0) + size

    def send_gathered(self) -> None:
        """Send all records that are gathered."""
        for partition in [each for each, records in self._gathered.items() if records]:
            self._send(partition)

    def _send(self, partition: int) -> None:
        self._wait_for(len(self._gathered[partition]))
        records = self._gathered.pop(partition)
        del self._sizes[partition]
        self._producer.send_records(TopicPartition(self._topic, partition), records)
        if partition == self._sticky:
            self._sticky = self._another()

    def _wait_for(self, records: int) -> None:
        self._pace.wait_for(records, self._waiting)

    def _partition_of(self, key: bytes | None) -> int:
        if self._fixed is not None:
            return self._fixed
        return self._sticky if key is None else partition_of_key(key, self._partitions)

    def _another(self) -> int:
        return self._choose(range(self._partitions)) if self._fixed is None else self._fixed

    def _fitting(self, values: list[bytes]) -> tuple[list[bytes], list[bytes]]:
        """The values of the next batch, at least one, and the rest."""
        count, most_bytes = len(values), self._most_bytes()
        if sum(map(len, values)) + count * _VALUE_OVERHEAD > most_bytes:
            ends = accumulate(len(value) + _VALUE_OVERHEAD for value in values)
            count = max(1, bisect_right(list(ends), most_bytes))
        if self._most is not None:
            count = min(count, self._most)
        return values[:count], values[count:]

    def _most_bytes(self) -> int:
        return min(self._batch_bytes, self._producer.fitting_bytes or self._batch_bytes)
