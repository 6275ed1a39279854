"""A running broker applies changed settings at once, and again after a restart."""

import socket
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import load_pem_x509_certificate
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.library.throwaway_certificates import ThrowawayCertificates
from pybroker.broker.network.settings import KnownHosts
from pybroker.broker.start_error import StartError
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.storage.workers.worker_pool import WorkerPool
from support.clients.config_requests import BROKER, SET, Change, Resource, alter, replace
from support.clients.wire_client import WireClient
from support.processes.ports import free_port

ALL_BROKERS = Resource(BROKER, "")


def workers() -> int:
    return len([thread for thread in threading.enumerate() if thread.name.startswith("pybroker-io")])


def most_workers(broker: BlockingBroker) -> int:
    """The threads that the pool may start; they start when there is work."""
    server = broker._broker._server
    assert server is not None
    assert isinstance(server._pool, WorkerPool)
    return server._pool.thread_count


def set_for_all(client: WireClient, **settings: str) -> None:
    changes = [Change(name.replace("_", "."), SET, value) for name, value in settings.items()]
    (response,) = client.ask(alter((ALL_BROKERS, changes)), 1).responses
    assert (response.error_code, response.error_message) == (0, None)


def new_store(directory: Path, password: str) -> bytes:
    """A PKCS12 store with a new key, always of the same name."""
    pem = ThrowawayCertificates(directory).issue("server").read_bytes()
    encryption = serialization.BestAvailableEncryption(password.encode())
    key: Any = serialization.load_pem_private_key(pem, None)
    return pkcs12.serialize_key_and_certificates(b"server", key, load_pem_x509_certificate(pem), None, encryption)


def served_certificate(port: int) -> str:
    return ssl.get_server_certificate(("127.0.0.1", port))


def set_for_broker(client: WireClient, broker_id: int, **settings: str) -> None:
    changes = [Change(f"listener.name.ssl.ssl.keystore.{name}", SET, value) for name, value in settings.items()]
    (response,) = client.ask(alter((Resource(BROKER, str(broker_id)), changes)), 1).responses
    assert (response.error_code, response.error_message) == (0, None)


def is_served(bootstrap_servers: str) -> bool:
    with WireClient(bootstrap_servers) as client:
        try:
            client.ask(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)
        except (AssertionError, ConnectionError):
            return False
        return True


def test_worker_pool_follows_num_io_threads(tmp_path: Path) -> None:
    with Broker({"log.dirs": str(tmp_path), "num.io.threads": "2"}) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            assert most_workers(broker) == 2
            set_for_all(client, num_io_threads="4")
            assert most_workers(broker) == 4
            set_for_all(client, num_io_threads="2")
            while workers() > 2:
                is_served(broker.bootstrap_servers)
            set_for_all(client, num_io_threads="3")
        broker.stop()
        assert workers() == 0
        broker.start()
        assert most_workers(broker) == 3
    assert workers() == 0


def test_connection_limits_follow_dynamic_settings(tmp_path: Path) -> None:
    with Broker({"log.dirs": str(tmp_path)}) as broker, WireClient(broker.bootstrap_servers) as client:
        assert is_served(broker.bootstrap_servers)
        set_for_all(client, max_connections_per_ip="1")
        assert not is_served(broker.bootstrap_servers)
        set_for_all(client, max_connections_per_ip_overrides="nowhere.invalid:1,127.0.0.1:2")
        assert is_served(broker.bootstrap_servers), "a host that is unknown changes nothing for others"
        (response,) = client.ask(replace((ALL_BROKERS, {})), 2).responses
        assert response.error_code == 0
        assert is_served(broker.bootstrap_servers)


def test_broker_starts_with_a_connection_limit_for_an_unknown_host(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Broker({"log.dirs": str(tmp_path)}) as broker:
        with WireClient(broker.bootstrap_servers) as client:
            set_for_all(client, max_connections_per_ip_overrides="nowhere.invalid:1")
        broker.stop()
        caplog.clear()
        broker.start()
        assert "no address is known of nowhere.invalid" in caplog.text


def test_settings_file_that_conflicts_with_dynamic_settings_is_refused(tmp_path: Path) -> None:
    name = "log.cleaner.max.compaction.lag.ms"
    settings = {"log.dirs": str(tmp_path), "broker.id": "3"}
    with Broker(settings) as broker, WireClient(broker.bootstrap_servers) as client:
        set_for_all(client, log_cleaner_min_compaction_lag_ms="100")
    with pytest.raises(StartError, match="log.cleaner.min.compaction.lag.ms=100.*set cluster-wide"):  # noqa: SIM117, RUF043
        with Broker({**settings, name: "10"}):
            pass
    with Broker({**settings, name: "1000"}) as broker:
        assert is_served(broker.bootstrap_servers)


def test_unknown_hosts_have_no_addresses_and_one_line_together(caplog: pytest.LogCaptureFixture) -> None:
    def resolve(host: str) -> Sequence[str]:
        if host == "known":
            return ["10.0.0.1"]
        raise socket.gaierror(-2, "unknown")

    with KnownHosts(resolve) as hosts:
        assert hosts.addresses_of("known") == ["10.0.0.1"]
        for number in range(40):
            assert hosts.addresses_of(f"h{number}") == ()
    (line,) = caplog.messages
    assert "h0, h1, h2, h3, h4 and 35 more" in line


def test_unresponsive_dns_server_is_not_asked_for_long() -> None:
    asked: list[str] = []
    now_s = 0.0

    def resolve(host: str) -> Sequence[str]:
        nonlocal now_s
        asked.append(host)
        now_s += 2
        raise socket.gaierror(-3, "try again")

    hosts = KnownHosts(resolve, lambda: now_s)
    for number in range(60):
        assert hosts.addresses_of(f"h{number}") == ()
    assert len(asked) == 3


def test_num_io_threads_is_bounded_and_the_broker_starts_again(tmp_path: Path) -> None:
    settings = {"log.dirs": str(tmp_path), "num.io.threads": "200"}
    with Broker(settings) as broker, WireClient(broker.bootstrap_servers) as client:
        wanted = alter((ALL_BROKERS, [Change("num.io.threads", SET, "300")]))
        (response,) = client.ask(wanted, 1).responses
        assert response.error_code == ErrorCode.INVALID_REQUEST
        set_for_all(client, num_io_threads="250")
    with Broker(settings) as broker:
        assert is_served(broker.bootstrap_servers)


def test_store_with_a_password_is_set_while_running_and_used_after_restarts_with_other_secrets(tmp_path: Path) -> None:
    directory, first, second = tmp_path / "data", tmp_path / "first.p12", tmp_path / "second.p12"
    for store in (first, second):
        store.write_bytes(new_store(tmp_path, f"canary of {store.name}"))
    port = free_port()
    settings = {
        "log.dirs": str(directory),
        "broker.id": "1",
        "listeners": f"PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:{port}",
        "listener.name.ssl.ssl.keystore.type": "PKCS12",
        "listener.name.ssl.ssl.keystore.location": str(first),
        "listener.name.ssl.ssl.keystore.password": "canary of first.p12",
    }
    with Broker({**settings, "password.encoder.secret": "one"}) as broker:
        before = served_certificate(port)
        with WireClient(broker.bootstrap_servers) as client:
            set_for_broker(client, 1, location=str(second), password="canary of second.p12")
        after = served_certificate(port)
        assert after != before
    assert b"canary" not in b"".join(path.read_bytes() for path in directory.rglob("*") if path.is_file())
    for secrets in ({"secret": "two", "old.secret": "one"}, {"secret": "two"}):
        with Broker({**settings, **{f"password.encoder.{name}": text for name, text in secrets.items()}}):
            assert served_certificate(port) == after
