"""The file with the tokens of the HTTP endpoint (``pybroker.http.token.file``)."""

import logging
import os
from collections.abc import Callable
from pathlib import Path

from ...base.unusable_path import why_unusable
from ...config.config_error import ConfigError
from ...replication.run_in_pool import RunInPool
from .access import digest_of

__all__ = ["TOKEN_FILE", "TokenFile", "read_tokens"]

logger = logging.getLogger(__name__)

TOKEN_FILE = "pybroker.http.token.file"

_LEAST_LENGTH = 16
_MAX_BYTES = 64 * 1024
_BETWEEN_LOOKS_S = 1.0

_Stamp = tuple[int, int, int]


class TokenFile:
    """Each line that is not empty is a token, so that an old and a new one can be valid together.

    The file is read again when it has changed. If it cannot be used then, the old tokens stay valid.
    """

    def __init__(self, path: Path, setting: str, now_s: Callable[[], float]) -> None:
        """Reads the file; blocks. ``setting``: its name and value, for errors. Raises ConfigError."""
        self._path = path
        self._setting = setting
        self._now_s = now_s
        self._looked_s = now_s()
        self._refused = ""
        self._stamp: _Stamp | None
        self._stamp, self.digests = self._read()

    async def refresh(self, run_in_pool: RunInPool) -> None:
        """Look at the file, once a second at most."""
        now_s = self._now_s()
        if now_s - self._looked_s < _BETWEEN_LOOKS_S:
            return
        self._looked_s = now_s
        try:
            self._stamp, self.digests = await run_in_pool(self._read_if_changed)
        except ConfigError as error:
            if str(error) != self._refused:
                logger.warning("%s; the tokens read before stay valid", error)
            self._refused = str(error)
        else:
            self._refused = ""

    def _read_if_changed(self) -> tuple[_Stamp | None, frozenset[bytes]]:
        return (self._stamp, self.digests) if self._stamp == self._stamp_now() else self._read()

    def _stamp_now(self) -> _Stamp | None:
        try:
            status = os.stat(self._path)
        except OSError:
            return None
        return status.st_mtime_ns, status.st_ino, status.st_size

    def _read(self) -> tuple[_Stamp | None, frozenset[bytes]]:
        stamp = self._stamp_now()  # before the file is read, so that a later change is found
        tokens = read_tokens(self._path, self._setting)
        if not tokens or any(len(token) < _LEAST_LENGTH for token in tokens):
            raise ConfigError(f"{self._setting}: each line must be a token of {_LEAST_LENGTH} characters or more")
        return stamp, frozenset(map(digest_of, tokens))


def read_tokens(path: Path, setting: str) -> list[bytes]:
    """The lines that are not empty; blocks. ``setting``: see `TokenFile`. Raises ConfigError."""
    try:
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{setting}: cannot be read: {why_unusable(error, str(path))}") from error
    if len(content) > _MAX_BYTES:
        raise ConfigError(f"{setting}: it has more than {_MAX_BYTES} bytes")
    return [token for line in content.split(b"\n") if (token := line.strip())]
