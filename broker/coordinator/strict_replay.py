"""Reads the records of a coordinator's partition, all of which must be readable."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from ...protocol.codec import DecodeError
from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import read_records
from ...protocol.records.walk import Record

__all__ = ["StrictReplay"]


class StrictReplay(ABC):
    """The part of `Replaying` that applies records one by one. ``topic``: the coordinator's topic."""

    topic: str

    def __init__(self, partition: int) -> None:
        self._partition = partition
        self.record_count = 0

    def steps(self, batch: RecordBatch) -> Iterator[None]:
        """Apply a batch, one record a step. Raises CorruptRecordError for a record that cannot be read."""
        self.record_count += batch.record_count
        if batch.is_control:
            return
        for record in read_records(batch):
            try:
                self._apply(record)
            except DecodeError as error:
                raise CorruptRecordError(
                    f"{self.topic}-{self._partition}: record at offset {record.offset} cannot be read: {error}"
                ) from error
            yield

    @abstractmethod
    def _apply(self, record: Record) -> None:
        """Apply one record. Raises DecodeError."""
