"""The transaction index (`.txnindex`): the aborted transactions whose marker is in the segment.

The file exists only if there is such a transaction.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ..files.files import Files, is_transient

_ENTRY = struct.Struct(">hqqqq")
_VERSION = 0


class AbortedTransaction(NamedTuple):
    """An aborted transaction.

    `last_offset` is the offset of its marker, `last_stable_offset` the LSO after the marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class CorruptIndexError(Exception):
    """An index file is damaged. It is rebuilt from the `.log`."""


class TransactionIndex:
    """The aborted transactions of one segment, kept in memory once read: they are few."""

    def __init__(self, files: Files, path: str, *, exists: bool) -> None:
        self._files = files
        self.path = path
        self._exists = exists
        self._entries: tuple[AbortedTransaction, ...] | None = None if exists else ()
        self._written = 0  # how many of the entries in memory are in the file

    @property
    def exists(self) -> bool:
        return self._exists

    def entries(self) -> tuple[AbortedTransaction, ...]:
        """Return all entries in order of their markers. Raises CorruptIndexError."""
        entries = self._entries
        if entries is None:
            entries = self._entries = self._read()
            self._written = len(entries)
        return entries

    @property
    def is_only_in_memory(self) -> bool:
        """Some entries are only in memory, because the disk was full."""
        return self._entries is not None and self._written < len(self._entries)

    def append(self, transaction: AbortedTransaction) -> None:
        """Add an entry and write it. After an OSError it is not in the index."""
        entries = self._with(transaction)
        self._write(entries)
        self._entries = entries
        self._exists = True

    def note(self, transaction: AbortedTransaction) -> None:
        """Add an entry whose marker is in the log already. On a full disk it stays in memory until `write_pending`."""
        self._entries = self._with(transaction)
        self._exists = True
        try:
            self.write_pending()
        except OSError as error:
            if not is_transient(error):
                raise

    def write_pending(self) -> None:
        """Write the entries that are only in memory. After an OSError they stay pending."""
        entries = self._entries
        if entries is not None and self._written < len(entries):
            self._write(entries)

    def _with(self, transaction: AbortedTransaction) -> tuple[AbortedTransaction, ...]:
        entries = self.entries()
        if entries and entries[-1].last_offset >= transaction.last_offset:
            raise ValueError(f"{self.path}: {transaction} does not follow {entries[-1]}")
        return (*entries, transaction)

    def _write(self, entries: tuple[AbortedTransaction, ...]) -> None:
        """Append the unwritten part of `entries` to the file."""
        data = b"".join(_ENTRY.pack(_VERSION, *entry) for entry in entries[self._written :])
        file = self._files.open(self.path, create=True)
        try:
            file.write_at(self._written * _ENTRY.size, data)
        finally:
            file.close()
        self._written = len(entries)

    def begins_at(self, offset: int) -> bool:
        """Whether all entries, and so the file itself, may be newer than the time when the log ended at `offset`."""
        entries = self.entries() if self._exists else ()
        return bool(entries) and entries[0].last_offset >= offset

    def collect(self, fetch_offset: int, upper_bound: int) -> tuple[list[AbortedTransaction], bool]:
        """Return the transactions that overlap [fetch_offset, upper_bound), and whether later segments have none."""
        found = []
        for transaction in self.entries():
            if transaction.last_offset >= fetch_offset and transaction.first_offset < upper_bound:
                found.append(transaction)
            if transaction.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Remove the transactions whose marker is at or above `offset`."""
        kept = tuple(entry for entry in self.entries() if entry.last_offset < offset)
        if len(kept) < len(self.entries()):
            if kept:
                if self._written:
                    self._written = min(self._written, len(kept))
                    self._files.truncate(self.path, self._written * _ENTRY.size)
                self._entries = kept
            else:
                self.reset()

    def reset(self) -> None:
        """Remove all entries and delete the file. (A start takes an empty file for a damaged one.)"""
        if self._exists:
            self._files.delete(self.path)
        self._exists = False
        self._entries = ()
        self._written = 0

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
