"""A record as it is in the log, for tests."""

from typing import NamedTuple

from ....protocol.records.record import Headers

__all__ = ["StoredRecord"]


class StoredRecord(NamedTuple):
    """``headers``: pairs of name and value. A value of None is a tombstone."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers = ()
