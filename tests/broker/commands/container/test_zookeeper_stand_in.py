"""The stand-in for ZooKeeper, and how a broker in a container finds out that it has one."""

import socket
import threading
import time
from collections.abc import Iterator

import pytest
from pybroker.broker.commands.container import zookeeper_stand_in
from pybroker.broker.commands.container.zookeeper_stand_in import serve, without_stand_in

OTHERS = {"KAFKA_BROKER_ID": "1", "PATH": "/bin"}
KRAFT = {"KAFKA_NODE_ID": "1", "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094"}


@pytest.fixture
def port() -> Iterator[int]:
    """The port of a stand-in."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=_serve_until_closed, args=(listener,), daemon=True)
        serving.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        serving.join()


def _serve_until_closed(listener: socket.socket) -> None:
    with pytest.raises(OSError, match=r"Invalid argument|Bad file descriptor"):
        serve(listener)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_address_of_the_stand_in_is_left_out(port: int, host: str) -> None:
    given = {"KAFKA_ZOOKEEPER_CONNECT": f"{host}:{port}", **OTHERS}
    assert without_stand_in(given) == OTHERS


def test_kraft_settings_are_left_out_with_the_stand_in_unless_the_node_has_roles(port: int) -> None:
    given = {"KAFKA_ZOOKEEPER_CONNECT": f"localhost:{port}", **KRAFT, **OTHERS}
    assert without_stand_in(given) == OTHERS
    roles = {"KAFKA_PROCESS_ROLES": "broker"}
    assert without_stand_in({**given, **roles}) == {**KRAFT, **OTHERS, **roles}


@pytest.mark.parametrize(
    "connect", ["zookeeper:2181", "localhost", "localhost:2181/kafka", "localhost:a", "", "a:1,b:2"]
)
def test_other_addresses_are_kept_without_asking(connect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "create_connection", lambda *_: pytest.fail("asked"))
    given = {"KAFKA_ZOOKEEPER_CONNECT": connect, **OTHERS}
    assert without_stand_in(given) == given


def test_address_where_another_server_answers_is_kept() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"Zookeeper version: 3.8.4-9316c2a7a97e1666d8f4593f34dd6fc36ecc436c\n")

        answering = threading.Thread(target=answer)
        answering.start()
        given = {"KAFKA_ZOOKEEPER_CONNECT": f"localhost:{listener.getsockname()[1]}", **KRAFT}
        assert without_stand_in(given) == given
        answering.join()


def test_address_where_nobody_listens_is_kept_after_the_longest_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zookeeper_stand_in, "_LONGEST_START_S", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    given = {"KAFKA_ZOOKEEPER_CONNECT": f"127.0.0.1:{port}"}
    assert without_stand_in(given) == given


def test_stand_in_begun_after_the_broker_asked_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    begun: list[socket.socket] = []

    def begin(_seconds: float) -> None:
        if not begun:
            begun.append(socket.create_server(("127.0.0.1", port)))
            threading.Thread(target=_serve_until_closed, args=(begun[0],), daemon=True).start()

    monkeypatch.setattr(time, "sleep", begin)
    assert without_stand_in({"KAFKA_ZOOKEEPER_CONNECT": f"127.0.0.1:{port}"}) == {}
    begun[0].shutdown(socket.SHUT_RDWR)
    begun[0].close()
