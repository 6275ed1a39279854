"""The kinds of things that a path can name: a file, a directory, a symbolic link without a target, or nothing."""

import os
import stat
from enum import Enum

__all__ = ["PathKind", "kind_of"]


class PathKind(Enum):
    """Links are followed. A `FILE` is anything but a directory: also a socket, a pipe, a device."""

    MISSING = "missing"
    FILE = "file"
    DIRECTORY = "directory"
    BROKEN_LINK = "broken link"


def kind_of(path: str) -> PathKind:
    """Raises OSError, except when the path or its target is missing."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return PathKind.MISSING
    if stat.S_ISLNK(mode) and not os.path.exists(path):  # no target, or a loop of links
        return PathKind.BROKEN_LINK
    return PathKind.DIRECTORY if os.path.isdir(path) else PathKind.FILE
