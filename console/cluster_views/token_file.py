"""The token for the HTTP ports of pybrokers. Its file is read again when it has changed."""

from __future__ import annotations

import os
from pathlib import Path

_MAX_BYTES = 64 << 10


class TokenFileError(Exception):
    """The file cannot be read, or has no token."""


class TokenFile:
    """Raises `TokenFileError` if there is no token at first. Later the last token stays until there is another one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = _state_of(path)
        self._token = _first_token(path)

    def token(self) -> str:
        """The first token of the file, because the broker's own file may hold a new and an old token."""
        seen = _state_of(self._path)
        if seen is not None and seen != self._seen:
            try:
                self._token = _first_token(self._path)
                self._seen = seen
            except TokenFileError:
                pass  # perhaps the file is being written
        return self._token

    def doubt(self) -> None:
        """A port refused the token: read the file again, even if it seems unchanged."""
        self._seen = None


def _state_of(path: Path) -> tuple[int, ...] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _first_token(path: Path) -> str:
    try:
        with path.open("rb") as opened:
            tokens = opened.read(_MAX_BYTES).decode("ascii").split()
    except UnicodeDecodeError:
        raise TokenFileError(f"--v1-token-file {path}: a token has ASCII characters only") from None
    except OSError as error:
        raise TokenFileError(f"--v1-token-file {path}: {error.strerror}") from None
    if not tokens:
        raise TokenFileError(f"--v1-token-file {path}: there is no token in it")
    return tokens[0]
