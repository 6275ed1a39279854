"""Says why a file or a directory cannot be used, and what the operator can do.

Why: the system's words, such as "No such file or directory", name neither the cause nor the place.
"""

import errno
import os
import stat

__all__ = ["NOT_A_FILE", "why_not_writable", "why_unusable"]

NOT_A_FILE = "is a pipe, a socket or a device, not a file"
"""The text of the OSError for such a thing, with EINVAL."""


def why_unusable(error: OSError, path: str) -> str:
    """The reason why ``path``, or a file in it, cannot be used, and the way out; ``path`` itself is called "it"."""
    named = error.filename2 or error.filename
    target = named if isinstance(named, str) else path
    match error.errno:
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return _forbidden(error.errno, _nearest(os.path.realpath(target)), path)
        case errno.ENOENT:
            return _missing(target, path)
        case errno.ENOTDIR:
            return f"{_subject(_nearest(target), path)} is not a directory"
        case errno.EISDIR:
            return f"{_subject(target, path)} is a directory, not a file; move it away"
        case errno.EINVAL if error.strerror == NOT_A_FILE:
            return f"{_subject(target, path)} {NOT_A_FILE}; move it away"
        case errno.EMFILE:
            return "too many open files; raise the limit of the process (ulimit -n)"
    reason = error.strerror or str(error)
    return reason if _subject(target, path) == "it" else f"{reason}: {target}"


def why_not_writable(path: str) -> str | None:
    """The reason why ``path`` cannot be read and written as a file, or created; None when nothing forbids it."""
    try:
        return _why_not_writable(path)
    except OSError as error:
        return why_unusable(error, path)


def _why_not_writable(path: str) -> str | None:
    real = os.path.realpath(path)
    directory = os.path.dirname(real)
    try:
        if not os.path.isdir(directory):
            os.stat(directory)
            return f"{directory} is not a directory"
        mode = os.stat(real).st_mode
    except FileNotFoundError:
        if not os.path.isdir(directory):
            link = f"it is a link to {real}, and " if os.path.islink(path) else ""
            return f"{link}there is no directory {directory}; create it"
        may_create = os.access(directory, os.W_OK | os.X_OK)
        return None if may_create else _forbidden(_number_of(directory, os.W_OK | os.X_OK), directory, path)
    if stat.S_ISDIR(mode):
        return "it is a directory, not a file; move it away"
    if not stat.S_ISREG(mode):
        return f"it {NOT_A_FILE}; move it away"
    if os.access(real, os.R_OK | os.W_OK):
        return None
    return _forbidden(_number_of(real, os.R_OK | os.W_OK), real, path)


def _forbidden(number: int, place: str, path: str) -> str:
    it = _subject(place, path)
    match number:
        case errno.EROFS:
            return f"the file system of {place} is read-only; mount it for writing"
        case errno.EPERM:
            what = "its attributes forbid" if it == "it" else f"the attributes of {it} forbid"
            return f"{what} changes (immutable or append-only, see lsattr); remove them (chattr -ia)"
    return f"no permission to use {it}; give it to the user of the broker (uid {os.geteuid()})"


def _missing(target: str, path: str) -> str:
    real = os.path.realpath(target)
    if os.path.islink(path):
        return f"it is a link to {os.path.realpath(path)}, which is missing; create that, or correct the link"
    return f"{_nearest(real)} takes no new files" if not os.path.lexists(path) else f"there is no {target}"


def _nearest(path: str) -> str:
    """``path``, or the nearest directory above it that exists."""
    path = os.path.abspath(path)
    while not os.path.exists(path) and path != os.path.dirname(path):
        path = os.path.dirname(path)
    return path


def _subject(place: str, path: str) -> str:
    return "it" if os.path.realpath(place) == os.path.realpath(path) else place


def _number_of(path: str, wanted: int) -> int:
    """The number of the error that refuses ``wanted``, bits of `os.access`, which gives no reason."""
    found = os.stat(path)
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return errno.EROFS
    if found.st_uid == os.geteuid():
        bits = found.st_mode >> 6
    else:
        bits = found.st_mode >> 3 if found.st_gid in (os.getegid(), *os.getgroups()) else found.st_mode
    return errno.EPERM if bits & wanted == wanted else errno.EACCES
