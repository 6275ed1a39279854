"""Finds the obstacle to a partition's directory when only the path of that partition is wrong.

Why: an error such as ENOENT also comes from a disk that is lost. So the obstacle must be there to be seen; without one
the log directory counts as failed.
"""

from __future__ import annotations

import errno
import os

from ..files.files import Files
from ..files.path_kind import PathKind

_ERRORS_OF_NAMES = (errno.ENOENT, errno.ELOOP, errno.EEXIST, errno.EISDIR, errno.ENOTDIR)


def obstacle_at(files: Files, path: str, error: OSError) -> str | None:
    """The obstacle to the partition's directory at `path`, with the way out; None when there is no obstacle.

    `error` is the reason why the log could not be opened or created.
    """
    if error.errno not in _ERRORS_OF_NAMES:
        return None
    try:
        kind = files.kind_of(path)
        if kind in (PathKind.FILE, PathKind.BROKEN_LINK):
            return _text(path, kind)
        for name in (error.filename, error.filename2):
            if isinstance(name, str) and os.path.dirname(name) == path:
                kind = files.kind_of(name)
                if kind in (PathKind.DIRECTORY, PathKind.BROKEN_LINK):
                    return _text(name, kind)
    except OSError:
        return None
    return None


def _text(path: str, kind: PathKind) -> str:
    if kind is PathKind.BROKEN_LINK:
        return f"{path} is a symbolic link without a target; bring the target back, or remove the link"
    return f"{path} is a {kind.value}; remove it"
