"""Finds the obstacle to a partition's directory when only the path of that partition is wrong.

Why: an error such as ENOENT also comes from a disk that is lost. So the obstacle must be there to be seen; without one
the log directory counts as failed.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from ...base.unusable_path import NOT_A_FILE, why_unusable
from ..files.files import Files
from ..files.path_kind import PathKind

_ERRORS_OF_NAMES = (errno.ENOENT, errno.ELOOP, errno.EEXIST, errno.EISDIR, errno.ENOTDIR)
_ERRORS_OF_PERMISSION = (errno.EACCES, errno.EPERM)


def obstacle_at(files: Files, path: str, error: OSError) -> str | None:
    """The obstacle to the partition's directory at `path`, with the way out; None when there is no obstacle.

    `error` is the reason why the log could not be opened, created or deleted.
    """
    try:
        if error.errno in _ERRORS_OF_PERMISSION:
            return _forbidden(files, path, error)
        if error.errno == errno.EINVAL and error.strerror == NOT_A_FILE and path in map(os.path.dirname, _names(error)):
            return f"{path}: {why_unusable(error, path)}"
        return _wrong_kind(files, path, error) if error.errno in _ERRORS_OF_NAMES else None
    except OSError:
        return None


def _forbidden(files: Files, path: str, error: OSError) -> str | None:
    """The obstacle when this user may not use the partition's directory or a file in it."""
    if files.kind_of(path) is PathKind.MISSING:
        return None
    for place in (path, *_names(error)):
        if (place == path or os.path.dirname(place) == path) and not files.may_use(place):
            return f"{path}: {why_unusable(OSError(error.errno, error.strerror, place), path)}"
    return None


def _wrong_kind(files: Files, path: str, error: OSError) -> str | None:
    kind = files.kind_of(path)
    if kind in (PathKind.FILE, PathKind.BROKEN_LINK):
        return _text(path, kind)
    for name in _names(error):
        if os.path.dirname(name) == path:
            kind = files.kind_of(name)
            if kind in (PathKind.DIRECTORY, PathKind.BROKEN_LINK):
                return _text(name, kind)
    return None


def _names(error: OSError) -> Iterator[str]:
    for name in (error.filename, error.filename2):
        if isinstance(name, str):
            yield name


def _text(path: str, kind: PathKind) -> str:
    if kind is PathKind.BROKEN_LINK:
        return f"{path} is a symbolic link without a target; bring the target back, or remove the link"
    return f"{path} is a {kind.value}; remove it"
