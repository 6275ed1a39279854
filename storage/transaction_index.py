"""`.txnindex`: the aborted transactions whose marker stands in the segment. The file exists only if there was one."""

from __future__ import annotations

import struct
from typing import NamedTuple

from .files import Files

_ENTRY = struct.Struct(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    """`last_offset` is that of the abort marker; `last_stable_offset` the LSO once it was written."""

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class CorruptIndexError(Exception):
    """An index file holds what cannot be right; it is rebuilt from the `.log`."""


class TransactionIndex:
    """The aborted transactions of one segment, kept in memory once read: they are few."""

    def __init__(self, files: Files, path: str, *, exists: bool) -> None:
        self._files = files
        self.path = path
        self._exists = exists
        self._entries: tuple[AbortedTransaction, ...] | None = None if exists else ()

    @property
    def exists(self) -> bool:
        return self._exists

    def entries(self) -> tuple[AbortedTransaction, ...]:
        """All of them in order of their markers. Raises CorruptIndexError."""
        entries = self._entries
        if entries is None:
            entries = self._entries = self._read()
        return entries

    def append(self, transaction: AbortedTransaction) -> None:
        entries = self.entries()
        if entries and entries[-1].last_offset >= transaction.last_offset:
            raise ValueError(f"{self.path}: {transaction} does not follow {entries[-1]}")
        file = self._files.open(self.path, create=True)
        try:
            file.write_at(len(entries) * _ENTRY.size, _ENTRY.pack(_VERSION, *transaction))
        finally:
            file.close()
        self._exists = True
        self._entries = (*entries, transaction)

    def begins_at(self, offset: int) -> bool:
        """Whether all that is in it, and so the file itself, may be new since the log ended at `offset`."""
        entries = self.entries() if self._exists else ()
        return bool(entries) and entries[0].last_offset >= offset

    def collect(self, fetch_offset: int, upper_bound: int) -> tuple[list[AbortedTransaction], bool]:
        """Those that touch [fetch_offset, upper_bound), and whether no later segment can hold more of them."""
        found = []
        for transaction in self.entries():
            if transaction.last_offset >= fetch_offset and transaction.first_offset < upper_bound:
                found.append(transaction)
            if transaction.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Remove the transactions whose marker is at or behind `offset`."""
        kept = tuple(entry for entry in self.entries() if entry.last_offset < offset)
        if len(kept) < len(self.entries()):
            if kept:
                self._files.truncate(self.path, len(kept) * _ENTRY.size)
                self._entries = kept
            else:
                self.reset()

    def reset(self) -> None:
        """Remove all of them, and the file: one that is there and empty has lost what was in it."""
        if self._exists:
            self._files.delete(self.path)
        self._exists = False
        self._entries = ()

    def sync(self) -> None:
        if self._exists:
            self._files.sync_path(self.path)

    def _read(self) -> tuple[AbortedTransaction, ...]:
        data = self._files.read_bytes(self.path)
        if len(data) % _ENTRY.size:
            raise CorruptIndexError(f"{self.path} has {len(data)} bytes")
        entries = []
        for version, *fields in _ENTRY.iter_unpack(data):
            if version > _VERSION:
                raise CorruptIndexError(f"{self.path} has an entry of version {version}")
            entries.append(AbortedTransaction(*fields))
        return tuple(entries)
