"""Stands in for the ZooKeeper that start scripts of test libraries begin beside Kafka in Confluent's image.

Why: such scripts run ``zookeeper-server-start`` and set ``KAFKA_ZOOKEEPER_CONNECT=localhost:2181``. Some wait until
that port is open. pybroker needs no ZooKeeper there.
How: a process holds the port and answers every question with one line. The broker asks whether that line comes from
``KAFKA_ZOOKEEPER_CONNECT``; then it keeps its metadata in the embedded store.
Limits: the process imports nothing of this package, to stay small; its argument is a file of ZooKeeper's settings.
"""

import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

__all__ = ["become_stand_in", "serve", "without_stand_in"]

_ANSWER = b"pybroker stands in for ZooKeeper\n"
_QUESTION = b"srvr"  # ZooKeeper answers it too
_VARIABLE = "KAFKA_ZOOKEEPER_CONNECT"
_OF_KRAFT = ("KAFKA_CONTROLLER_QUORUM_VOTERS", "KAFKA_NODE_ID")
_USUAL_PORT = 2181
_LOCAL = ("localhost", "127.0.0.1", "[::1]")
_LONGEST_START_S = 5.0
_INTERVAL_S = 0.02
_PATIENCE_S = 1.0


def become_stand_in(settings: Path) -> NoReturn:
    """Replace this process by one that holds the port. Raises OSError."""
    os.execv(sys.executable, [sys.executable, "-I", "-S", __file__, str(settings)])


def without_stand_in(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment, without ``KAFKA_ZOOKEEPER_CONNECT`` if a stand-in has that address.

    Then settings of KRaft without ``KAFKA_PROCESS_ROLES`` are left out too, because Kafka in ZooKeeper mode ignores
    them. Waits at most five seconds until a server has the address, because scripts begin it in the background. Only
    local addresses are asked.
    """
    host, _, port = environment.get(_VARIABLE, "").strip().partition(":")
    if host not in _LOCAL or not port.isdecimal() or not _is_stand_in(host.strip("[]"), int(port)):
        return dict(environment)
    ignored = {_VARIABLE} if environment.get("KAFKA_PROCESS_ROLES") else {_VARIABLE, *_OF_KRAFT}
    return {name: value for name, value in environment.items() if name not in ignored}


def _is_stand_in(host: str, port: int) -> bool:
    deadline = time.monotonic() + _LONGEST_START_S
    while True:
        try:
            with socket.create_connection((host, port), _PATIENCE_S) as connection:
                connection.sendall(_QUESTION)
                with connection.makefile("rb") as received:
                    return received.read(len(_ANSWER)) == _ANSWER
        except ConnectionRefusedError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_INTERVAL_S)
        except (OSError, OverflowError):
            return False


def _port_in(settings: Path) -> int:
    for line in settings.read_text().splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "clientPort" and value.strip().isdecimal():
            return int(value)
    return _USUAL_PORT


def serve(listener: socket.socket) -> NoReturn:
    """Answer one connection after another."""
    while True:
        connection, _ = listener.accept()
        with connection:
            try:
                connection.settimeout(_PATIENCE_S)
                connection.recv(len(_QUESTION))
                connection.sendall(_ANSWER)
            except OSError:  # the client has gone, or is silent
                pass


def main() -> NoReturn:
    with socket.create_server(("", _port_in(Path(sys.argv[1])))) as listener:
        serve(listener)


if __name__ == "__main__":
    main()
