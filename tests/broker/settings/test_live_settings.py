"""A running broker applies changed settings at once, and again after a restart."""

import socket
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.network.settings import KnownHosts
from pybroker.broker.start_error import StartError
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from support.clients.config_requests import BROKER, SET, Change, Resource, alter, replace
from support.clients.wire_client import WireClient

ALL_BROKERS = Resource(BROKER, "")


def workers() -> int:
    return len([thread for thread in threading.enumerate() if thread.name.startswith("pybroker-io")])


def set_for_all(client: WireClient, **settings: str) -> None:
    changes = [Change(name.replace("_", "."), SET, value) for name, value in settings.items()]
    (response,) = client.ask(alter((ALL_BROKERS, changes)), 1).responses
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
            assert workers() == 2
            set_for_all(client, num_io_threads="4")
            assert workers() == 4
            set_for_all(client, num_io_threads="3")
            while workers() != 3:
                is_served(broker.bootstrap_servers)
        broker.stop()
        assert workers() == 0
        broker.start()
        assert workers() == 3
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
