"""Turns one bit of a batch in a Fetch response, so that the client finds its checksum wrong."""

import copy
import os
import sys
from collections.abc import Callable
from struct import Struct
from typing import Any

from .request_items import TopicName, topic_of

__all__ = ["with_wrong_checksums"]

_HEAD = Struct(">qi")  # offset, length of the rest: in batches and in older messages alike
_MOST_BYTES = 16 * 1024 * 1024
"""A longer batch is left as it is, because it is read on the event loop."""


def with_wrong_checksums(
    response: Any, topic: str | None, partition: int | None, topic_name: TopicName, take: Callable[[], bool]
) -> Any:
    """The response with one wrong batch in each partition that is named and has records, if ``take`` says so.

    ``take`` is asked once, when there is such a partition. The response is not changed.
    """
    found = [
        (row, column)
        for row, each in enumerate(response.responses)
        if topic in (None, topic_of(each, topic_name))
        for column, data in enumerate(each.partitions)
        if partition in (None, data.partition_index) and _has_batch(data.records)
    ]
    if not found or not take():
        return response
    result = copy.copy(response)
    result.responses = [copy.copy(each) for each in response.responses]
    for each in result.responses:
        each.partitions = list(each.partitions)
    for row, column in found:
        data = copy.copy(result.responses[row].partitions[column])
        data.records = _turned(_first_batch(data.records))
        result.responses[row].partitions[column] = data
    return result


def _has_batch(records: Any) -> bool:
    return records is not None and _size(records) > _HEAD.size and _batch_bytes(records) <= _size(records)


def _size(records: Any) -> int:
    size: int | None = getattr(records, "size_bytes", None)
    return len(records) if size is None else size


def _batch_bytes(records: Any) -> int:
    """The size of the first batch; more than any response has when the batch is too long."""
    (_, length) = _HEAD.unpack(_read(records, _HEAD.size))
    size = _HEAD.size + int(length)
    return size if _HEAD.size < size <= _MOST_BYTES else sys.maxsize


def _first_batch(records: Any) -> bytearray:
    return bytearray(_read(records, _batch_bytes(records)))


def _read(records: Any, size_bytes: int) -> bytes:
    if isinstance(records, bytes | bytearray | memoryview):
        return bytes(records[:size_bytes])
    return os.pread(records.fileno(), size_bytes, records.position)


def _turned(batch: bytearray) -> bytes:
    batch[-1] ^= 1
    return bytes(batch)
