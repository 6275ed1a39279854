"""The words that say why a connection fails."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from pybroker import Broker
from pybroker.client.admin_cluster import AdminCluster
from pybroker.client.client_settings import ClientSettings, take_client_settings
from pybroker.client.connection import Connection, TlsError
from pybroker.client.failure_causes import WANTS_LOGIN, WANTS_TLS
from pybroker.client.given_options import GivenOptions

NO_HOST = "no-such-host.invalid"


def settings_for(servers: str, **more: str) -> ClientSettings:
    given = {"bootstrap.servers": servers, **{name.replace("_", "."): value for name, value in more.items()}}
    return take_client_settings(GivenOptions(given), "test")


def failure_of(settings: ClientSettings) -> str:
    with AdminCluster(settings) as cluster, pytest.raises((ConnectionError, TlsError)) as caught:
        cluster.metadata()
    return str(caught.value)


@contextmanager
def one_connection(serve: Callable[[socket.socket], object]) -> Iterator[str]:
    """A server that serves one connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            connection, _ = listener.accept()
            with connection:
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        thread.join()


def test_name_without_address_is_said_in_words() -> None:
    settings = settings_for(f"{NO_HOST}:9092")
    words = f"no connection to {NO_HOST}:9092: this machine finds no address for the name {NO_HOST}"
    assert failure_of(settings) == words


def test_name_that_the_brokers_advertise_leads_to_their_setting(servers: str) -> None:
    with pytest.raises(ConnectionError, match="see advertised"):
        Connection(NO_HOST, 9092, settings_for(servers))


def test_tls_on_a_plain_port_leads_to_the_protocol(servers: str) -> None:
    said = failure_of(settings_for(servers, security_protocol="SSL"))
    assert said.endswith("perhaps the port speaks no TLS (security.protocol)")
    assert "[" not in said


def test_http_port_is_recognized() -> None:
    def serve(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with one_connection(serve) as address:
        assert failure_of(settings_for(address)) == f"{address} speaks HTTP: it is not a port of a Kafka broker"


def test_port_that_closes_at_once_may_want_tls() -> None:
    with one_connection(lambda connection: connection.recv(1 << 16)) as address:
        assert failure_of(settings_for(address)) == f"{address} closed the connection; {WANTS_TLS}"


def test_port_that_closes_after_the_versions_may_want_a_login() -> None:
    with Broker({}, users={"ana": "x"}) as broker:
        address = broker.bootstrap_servers
        assert failure_of(settings_for(address)) == f"{address} closed the connection; {WANTS_LOGIN}"
