"""Lists a directory, with the kinds and sizes of its entries; links are followed."""

import errno
import os
from typing import NamedTuple

__all__ = ["Entry", "list_entries"]


class Entry(NamedTuple):
    """One name in a directory; `size_bytes` is 0 for a directory."""

    name: str
    is_directory: bool
    size_bytes: int


def list_entries(path: str, *, forbidden_is_directory: bool = False) -> list[Entry]:
    """The entries of a directory, sorted by name, without links that have no target. Raises OSError.

    `forbidden_is_directory`: a link to a place that this user may not use counts as a link to a directory.
    """
    found = []
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                is_directory = entry.is_dir()
                found.append(Entry(entry.name, is_directory, 0 if is_directory else entry.stat().st_size))
            except OSError as error:
                if forbidden_is_directory and error.errno == errno.EACCES and entry.is_symlink():
                    found.append(Entry(entry.name, is_directory=True, size_bytes=0))
                elif error.errno not in (errno.ENOENT, errno.ELOOP):  # deleted meanwhile; a loop of links
                    raise
    return sorted(found)
