"""Reads a ZooKeeper's sessions by its four letter words: their owners and the time of the last ping."""

import re
import socket
import time

__all__ = ["session_of", "wait_for_a_ping"]

_BETWEEN_LOOKS_S = 0.01
_TIMEOUT_S = 60


def session_of(port: int, path: str) -> str:
    """Returns the id (hexadecimal) of the session that owns the ephemeral node `path`. Raises LookupError."""
    session_id = ""
    for line in _ask(port, "dump").splitlines():
        if match := re.fullmatch(r"0x([0-9a-f]+):", line.strip()):
            session_id = match[1]
        elif line.strip() == path:
            return session_id
    raise LookupError(f"no session has {path}")


def wait_for_a_ping(port: int, session_id: str) -> None:
    """Waits for the next ping of an idle session. Raises TimeoutError."""
    deadline = time.monotonic() + _TIMEOUT_S
    before = _last_heard(port, session_id)
    while (last := _last_heard(port, session_id)) == before or "lop=PING" not in last:
        if time.monotonic() > deadline:
            raise TimeoutError(f"session {session_id} was silent for {_TIMEOUT_S} s")
        time.sleep(_BETWEEN_LOOKS_S)


def _last_heard(port: int, session_id: str) -> str:
    """Returns the server's last operation for the session, and its time by the server's clock."""
    for line in _ask(port, "cons").splitlines():
        if f"sid=0x{session_id}," in line:
            return ",".join(re.findall(r"(?:lop|lresp)=\w+", line))
    return ""


def _ask(port: int, word: str) -> str:
    with socket.create_connection(("127.0.0.1", port), timeout=_TIMEOUT_S) as connection:
        connection.sendall(word.encode())
        return b"".join(iter(lambda: connection.recv(65536), b"")).decode()
