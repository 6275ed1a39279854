"""The session guard: a process that ends the ZooKeeper session of a broker that died, before the session times out.

**How.** A script that needs only the standard library, to be small. It reads a pipe from the broker: a line with the
broker's process id, a line with the session, then ``end`` or the end of the broker. Then it resumes the session and
closes it in ZooKeeper. When the session ended otherwise, the broker kills this process.

The pipe alone does not prove that the broker is dead: a fork keeps it open, and a process may close all its files. So
on Linux the process itself is watched. A stopped process counts as alive.
"""

from __future__ import annotations

import os
import select
import signal
import sys

TYPE_CHECKING = False  # type checkers take it for true; importing typing would cost more memory than all the rest
if TYPE_CHECKING:
    import socket
    from typing import Any

END = b"end\n"

_CONNECT_TIMEOUT_S = 1.0
_PAUSE_S = 0.2
_MIN_RETRY_S = 60.0
"""How long an unreachable ZooKeeper is retried at least: after a restart it gives each session its full time again."""
_CLOSE_SESSION = -11
_ORDER_LINES = 2


def main() -> None:
    # A terminal or a service manager sends signals to all processes; only the broker reacts to them.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    order = _await_end(sys.stdin.fileno())
    if order is not None:
        _broker_died(order)


def _await_end(pipe: int) -> bytes | None:
    """Wait until the session must end; returns the order. None: the broker died while it wrote the order."""
    told = b""
    process: int | None = None
    watched = [pipe]
    wait_s: float | None = None
    while watched:
        ready, _, _ = select.select(watched, [], [], wait_s)
        if pipe not in ready:
            break  # the broker has ended, and the pipe is empty
        piece = os.read(pipe, 65536)
        told += piece
        if told.endswith(END):
            break
        if not piece:
            watched.remove(pipe)  # without a process descriptor, the end of the pipe must do
        if process is None and b"\n" in told:
            try:
                process = _process_fd(int(told.partition(b"\n")[0]))
                watched.append(process)
            except ProcessLookupError:
                wait_s = 0
            except OSError:
                continue
    return _order(told)


def _process_fd(process_id: int) -> int:
    """A descriptor that becomes readable when the parent process has ended.

    Raises ProcessLookupError when it has ended, and OSError when the system has no such descriptors.
    """
    if not hasattr(os, "pidfd_open"):
        raise OSError("this system has no pidfd_open, so the guard cannot watch the broker")
    descriptor = os.pidfd_open(process_id)
    if os.getppid() != process_id:  # the broker had ended before, and another process may have its id
        os.close(descriptor)
        raise ProcessLookupError
    return descriptor


def _order(told: bytes) -> bytes | None:
    lines = told.splitlines(keepends=True)
    return lines[1] if len(lines) >= _ORDER_LINES and lines[1].endswith(b"\n") else None


def _broker_died(told: bytes) -> None:
    # Imported only now, so that this process is small while the broker lives.
    import json
    import time

    order = json.loads(told)
    deadline = time.monotonic() + max(order["session_timeout_ms"] / 1000, _MIN_RETRY_S)
    while time.monotonic() < deadline:
        for host, port in order["servers"]:
            try:
                with _connection(host, port, order) as connection:
                    close_session(connection, order["session_id"], bytes.fromhex(order["password"]))
                return
            except (OSError, EOFError):
                continue
        time.sleep(_PAUSE_S)


def _connection(host: str, port: int, order: dict[str, Any]) -> socket.socket:
    import socket

    connection = socket.create_connection((host, port), _CONNECT_TIMEOUT_S)
    if order["tls"] is None:
        return connection
    sys.path[:] = order["import_path"]
    _find_package()
    from pybroker.controller.tree.zookeeper_tls import TlsSettings  # the broker's own TLS settings

    return TlsSettings(**order["tls"]).context().wrap_socket(connection, server_hostname=host)


def _find_package() -> None:
    """Make this package importable. In a development install the import path alone does not lead to it, and this
    process skips the site set-up that would."""
    from importlib.util import module_from_spec, spec_from_file_location

    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    spec = spec_from_file_location(
        "pybroker", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    assert spec is not None
    sys.modules["pybroker"] = module_from_spec(spec)


def close_session(connection: socket.socket, session_id: int, password: bytes) -> None:
    """Resume a session and close it. Raises OSError or EOFError when ZooKeeper does not answer."""
    import struct

    greeting = struct.pack(">iqiqi", 0, 0, 10_000, session_id, len(password)) + password + b"\0"
    connection.sendall(struct.pack(">i", len(greeting)) + greeting)
    _, timeout_ms = struct.unpack_from(">ii", _frame(connection))
    if timeout_ms <= 0:
        return  # the session had ended already
    connection.sendall(struct.pack(">iii", 8, 1, _CLOSE_SESSION))
    _frame(connection)


def _frame(connection: socket.socket) -> bytes:
    size = int.from_bytes(_exactly(connection, 4), "big")
    return _exactly(connection, size)


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        piece = connection.recv(size - len(received))
        if not piece:
            raise EOFError("the server closed the connection")
        received += piece
    return received


if __name__ == "__main__":
    main()
