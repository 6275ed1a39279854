"""The base of the offset index and the time index: a file of fixed-size entries, sorted by both columns.

How: the index of an active segment is two arrays in memory. Entries are written to the file a few at a time, and at the
latest when the segment is flushed, rolled or closed. A crash may lose entries; recovery rebuilds them, because the
active segment is always after the recovery point. Closed indexes are searched in pages of the file.
The file is neither memory-mapped nor preallocated (Kafka does both), so it never needs trimming.
"""

from __future__ import annotations

import struct
from array import array
from bisect import bisect_right
from operator import le, lt

from ..files.files import FileRef, Files, is_transient

_PAGE_BYTES = 4096
_WRITE_AFTER_ENTRIES = 32


class IndexFile:
    """Entries (key, value) in which neither column ever falls. The subclass defines the layout."""

    layout: struct.Struct
    kept_free = 0
    """How many more entries must fit after `is_full` becomes true."""

    def __init__(self, files: Files, path: str, base_offset: int, max_bytes: int) -> None:
        """Open a closed index over the file at `path`, which need not exist yet."""
        self._files = files
        self._ref = files.ref(path)
        self.base_offset = base_offset
        self.entry_bytes = self.layout.size
        self._full_at = max_bytes // self.entry_bytes - self.kept_free
        self._keys: array[int] | None = None
        self._values: array[int] | None = None
        self._count = -1  # entries of a closed index; -1 when not known yet
        self._last_key = -1  # the same
        self._written = 0
        self._is_only_in_memory = False

    # --- lifecycle -------------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        return self._ref.path

    @path.setter
    def path(self, path: str) -> None:
        self._ref.path = path

    @property
    def ref(self) -> FileRef:
        return self._ref

    def create(self) -> None:
        """Create an empty, active index."""
        self._files.create_empty(self.path)
        self._set_entries([])
        self._written = 0
        self._is_only_in_memory = False

    @property
    def is_only_in_memory(self) -> bool:
        """All entries are in memory and there is no file, because the disk was full."""
        return self._is_only_in_memory

    def keep_in_memory(self) -> None:
        """Keep an active index only in memory, on a full disk, until `write_pending` succeeds.

        The file is deleted: a start rebuilds a missing index, but would not notice one that lacks entries.
        """
        if self._keys is None:
            return
        self.close()
        self._files.delete(self.path)
        self._written = 0
        self._is_only_in_memory = True

    def activate(self) -> None:
        """Read the entries into memory, so that more can be appended. The file is opened when entries are written."""
        if self._keys is None:
            data = self._files.read_bytes(self.path)
            whole = len(data) - len(data) % self.entry_bytes
            entries = list(self.layout.iter_unpack(data[:whole]))
            self._set_entries(entries)
            self._written = len(entries)

    def activate_empty(self) -> None:
        """Do `activate` for a file that is known to be empty, without opening it."""
        self._set_entries([])
        self._written = 0

    def deactivate(self) -> None:
        """Write pending entries, truncate the file to its entries, and answer look-ups from the file from now on."""
        if self._keys is not None:
            self.write_pending()
            file = self._ref.file()
            size = self._written * self.entry_bytes
            if file.size() != size:
                file.truncate(size)
            self._count, self._last_key = self._written, -1
            self._keys = self._values = None

    def reset(self) -> None:
        """Become active and empty. On a full disk the file is created later."""
        try:
            self.create()
        except OSError as error:
            if not is_transient(error):
                raise
            self._set_entries([])
            self.keep_in_memory()

    def write_pending(self) -> None:
        """Write the entries that are only in memory. After an OSError they stay pending."""
        if not self._is_only_in_memory:
            self._write_entries()
            return
        try:
            self._files.create_empty(self.path)
            self._write_entries()
        except OSError as error:
            if is_transient(error):
                self.keep_in_memory()
            raise
        self._is_only_in_memory = False

    def _write_entries(self) -> None:
        keys, values = self._keys, self._values
        if keys is None or values is None or self._written == len(keys):
            return
        pack = self.layout.pack
        data = b"".join(map(pack, keys[self._written :], values[self._written :]))
        self._ref.file().write_at(self._written * self.entry_bytes, data)
        self._written += len(data) // self.entry_bytes

    def sync(self) -> None:
        self._ref.file().sync()

    def close(self) -> None:
        self._files.forget(self._ref)

    # --- entries ------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        keys = self._keys
        return self._file_entries() if keys is None else len(keys)

    @property
    def is_full(self) -> bool:
        keys = self._keys
        return (self._file_entries() if keys is None else len(keys)) >= self._full_at

    @property
    def entries_left(self) -> int:
        """How many more entries fit."""
        return max(0, self._full_at - len(self))

    def is_sorted(self) -> bool:
        """Whether an active index has rising keys and non-falling values, none below 0. A damaged file may not."""
        keys, values = self._keys, self._values
        if not keys or not values:
            return True
        return keys[0] >= 0 <= values[0] and all(map(lt, keys, keys[1:])) and all(map(le, values, values[1:]))

    def entry(self, slot: int) -> tuple[int, int]:
        """Return entry number `slot` as it is stored."""
        keys, values = self._keys, self._values
        if keys is None or values is None:
            size = self.entry_bytes
            data = self._ref.file().read_at(slot * size, size)
            if len(data) < size:
                raise IndexError(f"{self.path} has no entry {slot}")
            key, value = self.layout.unpack(data)
            return key, value
        return keys[slot], values[slot]

    def slot_at_or_below(self, key: int, *, cached_only: bool = False) -> int:
        """Return the last slot whose key is not above `key`, or -1. Its entry is then in the page cache.

        With `cached_only` raises NotCachedError instead of waiting for the disk.
        """
        keys = self._keys
        if keys is not None:
            return bisect_right(keys, key) - 1
        return self._closed_slot_at_or_below(key, cached_only)

    def _append(self, key: int, value: int) -> None:
        keys, values = self._keys, self._values
        if keys is None or values is None:
            raise ValueError(f"{self.path} is closed for appends")
        values.append(value)  # the value first, because readers on other threads find entries by key
        keys.append(key)
        if len(keys) - self._written >= _WRITE_AFTER_ENTRIES and not self._is_only_in_memory:
            self.write_pending()

    def _truncate_entries(self, count: int) -> None:
        self.activate()
        keys, values = self._keys, self._values
        if keys is None or values is None or count >= len(keys):
            return
        # New arrays, so that concurrent readers keep a consistent pair.
        self._keys, self._values = keys[:count], values[:count]
        self._written = min(self._written, count)
        if not self._is_only_in_memory:
            self._ref.file().truncate(self._written * self.entry_bytes)

    def _set_entries(self, entries: list[tuple[int, ...]]) -> None:
        self._keys = array("q", [entry[0] for entry in entries])
        self._values = array("q", [entry[1] for entry in entries])

    def _file_entries(self) -> int:
        if self._count < 0:
            self._count = self._ref.file().size() // self.entry_bytes
        return self._count

    def _closed_slot_at_or_below(self, key: int, cached_only: bool) -> int:
        """Search the file's pages. The first guess assumes evenly rising keys, so mostly one page is read."""
        size, file = self.entry_bytes, self._ref.file()
        read_at = file.read_cached_at if cached_only else file.read_at
        unpack_from = self.layout.unpack_from
        count = self._file_entries()
        per_page = _PAGE_BYTES // size
        low, high = (
            0,
            (count + per_page - 1) // per_page,
        )  # the slot is in one of these pages, or the last of the page before
        if low == high:
            return -1
        if self._last_key < 0:
            self._last_key = unpack_from(read_at((count - 1) * size, size))[0]
        page_number = min(max(high * key // (self._last_key + 1), 0), high - 1) if self._last_key >= 0 else 0
        while low < high:
            start = page_number * per_page
            page = read_at(start * size, min(per_page, count - start) * size)
            last = len(page) // size - 1
            if key < unpack_from(page, 0)[0]:
                high = page_number
            elif key >= unpack_from(page, last * size)[0]:
                low = page_number + 1
            else:
                return start + bisect_right(range(last), key, key=lambda slot: unpack_from(page, slot * size)[0]) - 1
            page_number = (low + high) // 2
        return min(low * per_page, count) - 1
