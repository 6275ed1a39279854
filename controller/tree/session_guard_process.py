"""A process that ends the session of a broker that died, so that nobody has to wait for the session's time-out.

It runs beside the broker as a script of its own, with nothing but the standard library, to be small, and waits at the
end of a pipe of which the broker holds the other. First comes a line with the broker's process id and one that says
whose session it is; then either ``end``, or nothing more, because the broker's process is gone. Only then the session
is taken up and closed in ZooKeeper. Where the session ended otherwise, the broker ends this process by a signal.

That the process is gone is not told by the pipe alone. A fork of the broker's process keeps it open, and who closes
all files of a process closes it, too; so the process itself is watched where the system lets us (Linux). A process
that is stopped lives.
"""

from __future__ import annotations

import os
import select
import signal
import sys

TYPE_CHECKING = False  # for type checkers it is true; the module that has it would cost more than all the others
if TYPE_CHECKING:
    import socket
    from typing import Any

END = b"end\n"

_CONNECT_TIMEOUT_S = 1.0
_PAUSE_S = 0.2
_PATIENCE_S = 60.0
"""For a ZooKeeper that is away: when it is back each session has its whole time again, however late that is."""
_CLOSE_SESSION = -11
_ORDER_LINES = 2


def main() -> None:
    # A terminal, or who stops a service, sends signals to all of its processes: the broker is the one that decides.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    order = _await_end(sys.stdin.fileno())
    if order is not None:
        _broker_died(order)


def _await_end(pipe: int) -> bytes | None:
    """Returns when the session is to be ended, with the order; None: the broker died while it wrote that."""
    told = b""
    process: int | None = None
    watched = [pipe]
    wait_s: float | None = None
    while watched:
        ready, _, _ = select.select(watched, [], [], wait_s)
        if pipe not in ready:
            break  # the process has ended, and left nothing in the pipe
        piece = os.read(pipe, 65536)
        told += piece
        if told.endswith(END):
            break
        if not piece:
            watched.remove(pipe)  # where nothing else can be watched, that must do
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
    """A descriptor that is readable when the process that started this one has ended. ProcessLookupError: it has;
    OSError: there is none to be had."""
    if not hasattr(os, "pidfd_open"):
        raise OSError("the system has none")
    descriptor = os.pidfd_open(process_id)
    if os.getppid() != process_id:  # so it had ended before, and another one may have its number
        os.close(descriptor)
        raise ProcessLookupError
    return descriptor


def _order(told: bytes) -> bytes | None:
    lines = told.splitlines(keepends=True)
    return lines[1] if len(lines) >= _ORDER_LINES and lines[1].endswith(b"\n") else None


def _broker_died(told: bytes) -> None:
    # Imported only now: for as long as the broker lives this process shall cost next to nothing.
    import json
    import time

    order = json.loads(told)
    deadline = time.monotonic() + max(order["session_timeout_ms"] / 1000, _PATIENCE_S)
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
    from pybroker.controller.tree.zookeeper_tls import TlsSettings  # the broker's, for it is the same connection

    return TlsSettings(**order["tls"]).context().wrap_socket(connection, server_hostname=host)


def _find_package() -> None:
    """Make this very package importable: where it is installed for its developers, the path alone does not lead to it,
    and what does is part of the set-up that this process leaves out."""
    from importlib.util import module_from_spec, spec_from_file_location

    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    spec = spec_from_file_location(
        "pybroker", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
    )
    assert spec is not None
    sys.modules["pybroker"] = module_from_spec(spec)


def close_session(connection: socket.socket, session_id: int, password: bytes) -> None:
    """Take up a session and close it. OSError, EOFError: there was no answer."""
    import struct

    greeting = struct.pack(">iqiqi", 0, 0, 10_000, session_id, len(password)) + password + b"\0"
    connection.sendall(struct.pack(">i", len(greeting)) + greeting)
    _, timeout_ms = struct.unpack_from(">ii", _frame(connection))
    if timeout_ms <= 0:
        return  # it was over
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
