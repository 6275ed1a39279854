"""A server that accepts one connection and answers with given bytes, or not at all."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

__all__ = ["say", "say_nothing", "somebody_else"]

Serve = Callable[[socket.socket], None]


@contextmanager
def somebody_else(serve: Serve) -> Iterator[str]:
    """The address of a server that accepts one connection and is no healthy broker."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def take_one() -> None:
            connection, _ = listening.accept()
            with connection:
                serve(connection)

        thread = threading.Thread(target=take_one)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        thread.join()


def say(answer: bytes) -> Serve:
    def serve(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall(answer)
        with suppress(OSError):  # a client that has seen enough may have closed the connection by now
            connection.shutdown(socket.SHUT_WR)

    return serve


def say_nothing(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass
