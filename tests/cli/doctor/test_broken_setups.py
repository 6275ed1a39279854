"""More set-ups that are broken on purpose; `pybroker doctor` names each by its number."""

import http.server
import json
import resource
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pybroker import Broker
from pybroker.cli.doctor.shapes import Diagnosis
from pybroker.protocol.apis import ApiKey
from support.clients.commands import rows_of, run
from support.clients.produced import Produced, produce
from support.console.three_brokers import three_brokers
from support.in_process.tls_ends import STORES
from support.processes.certificates import Authority
from support.time.patience import await_that
from support.transactions.hanging_transaction import UNVERIFIED, begin_hanging_transaction

HOUR_MS = 3_600_000
DAY_MINUTES = 24 * 60


def found(servers: str, verdict: str, *options: str) -> dict[str, str]:
    """The findings of the checks with this verdict, by number."""
    ran = run(servers, "doctor", "-o", "json", "--timeout", "2", *options)
    rows = rows_of(ran.out, Diagnosis)
    assert ran.code == (10 if any(row["verdict"] == "FAIL" for row in rows) else 0), ran.err
    return {row["check"]: row["finding"] for row in rows if row["verdict"] == verdict}


@pytest.fixture(scope="module")
def plain() -> Iterator[Any]:
    settings = {"pybroker.http.listeners": "HTTP://127.0.0.1:0", "offsets.topic.num.partitions": "1"}
    kept = {"offsets.retention.minutes": str(DAY_MINUTES), "log.message.timestamp.after.max.ms": str(1 << 60)}
    with Broker({**UNVERIFIED, **settings, **kept, "log.retention.ms": "-1"}) as broker:
        yield broker


# -- how the port is reached


def test_name_that_does_not_resolve_fails_d01() -> None:
    assert list(found("no-such-host.invalid:9092", "FAIL")) == ["D01", "D06"]


@contextmanager
def served(answer: Callable[[socket.socket], object], context: ssl.SSLContext | None = None) -> Iterator[str]:
    """A server that serves each connection by `answer`, one after the other."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                try:
                    with connection if context is None else context.wrap_socket(connection, server_side=True) as open_:
                        open_.settimeout(5)
                        answer(open_)
                except OSError:
                    continue

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_port_that_says_nothing_fails_d03() -> None:
    with served(lambda connection: connection.recv(1 << 20) and connection.recv(1)) as address:
        failed = found(address, "FAIL", "--timeout", "0.2")
    assert failed["D03"] == f"{address} speaks a protocol that is not Kafka's, or nothing"


def test_port_of_a_kraft_controller_fails_d03() -> None:
    def answer(connection: socket.socket) -> None:
        request = connection.recv(1 << 16)
        rows = [(ApiKey.FETCH, 0, 17), (ApiKey.API_VERSIONS, 0, 4)]
        body = struct.pack(">hi", 0, len(rows)) + b"".join(struct.pack(">hhh", *row) for row in rows)
        connection.sendall(struct.pack(">i", 4 + len(body)) + request[8:12] + body)

    with served(answer) as address:
        assert "controllers, which is not for clients" in found(address, "FAIL", "--timeout", "1")["D03"]


def test_https_on_the_port_fails_d03() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(STORES / "server.pem")

    def answer(connection: socket.socket) -> None:
        connection.recv(1 << 16)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with served(answer, context) as address:
        assert found(address, "FAIL", "--timeout", "1")["D03"] == f"{address} speaks HTTPS"


def test_mechanism_that_the_broker_does_not_offer_fails_d04() -> None:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    login = ["security.protocol=SASL_PLAINTEXT", "sasl.mechanism=SCRAM-SHA-512"]
    login.append(f'sasl.jaas.config={module} username="ana" password="x";')
    with Broker({"sasl.enabled.mechanisms": "PLAIN"}, users={"ana": "x"}) as broker:
        failed = found(broker.bootstrap_servers, "FAIL", *(part for each in login for part in ("-X", each)))
    assert failed["D04"].endswith("offers PLAIN, but not the client's SCRAM-SHA-512")


@pytest.mark.parametrize(
    ("names", "verdict", "words"),
    [
        ("DNS:kafka.example.org", "FAIL", "IP address mismatch"),
        ("IP:127.0.0.1", "warn", "is valid for 2 days"),
    ],
)
def test_certificate_of_another_host_or_of_few_days_is_d05(
    tmp_path: Path, names: str, verdict: str, words: str
) -> None:
    authority = Authority(tmp_path)
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "security.inter.broker.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(authority.issue("broker", names)),
    }
    trust = ("security.protocol=SSL", "ssl.truststore.type=PEM", f"ssl.truststore.location={authority.certificate}")
    with Broker(settings) as broker:
        rows = found(broker.bootstrap_servers, verdict, *(part for each in trust for part in ("-X", each)))
    assert words in rows["D05"]


# -- clusters in trouble


def test_cluster_that_loses_its_brokers_is_named_by_number(tmp_path: Path) -> None:
    with three_brokers(tmp_path) as cluster:
        servers = cluster.bootstrap_servers
        cluster.create("orders", [1, 2, 3])
        cluster.create("alone", [3])
        for name, least in (("safe", 2), ("strict", 3)):
            cluster.create(name, [1, 2, 3])
            assert run(servers, "configs", "set", f"topic/{name}", f"min.insync.replicas={least}").code == 0
        assert run(servers, "groups", "reset", "g", "--to", "earliest", "--topics", "orders", "--execute").code == 0
        warned = found(servers, "warn")
        assert warned["D14"] == "1 partition at min.insync.replicas: strict-0"
        assert warned["D15"] == "1 topic with 3 replicas or more: orders"
        assert warned["D16"].startswith("__consumer_offsets has 1 replica, but there are 3 brokers")
        assert found(servers, "FAIL") == {}
        cluster.kill(3)
        servers = cluster.bootstrap_servers
        await_that(lambda: "orders-0" in found(servers, "warn").get("D13", ""), "broker 3 is out of sync")
        failed, warned = found(servers, "FAIL"), found(servers, "warn")
    assert "alone-0" in failed["D11"]
    assert failed["D12"] == "1 partition under min.insync.replicas: strict-0"
    assert "3 partitions with replicas out of sync" in warned["D13"]
    assert warned["D14"] == "1 partition at min.insync.replicas: safe-0"


def test_log_directory_that_cannot_be_used_fails_d17(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Broker({"log.dirs": f"{tmp_path / 'good'},{tmp_path / 'file' / 'bad'}"}) as broker:
        assert "file/bad of broker 1001: " in found(broker.bootstrap_servers, "FAIL")["D17"]


def test_hanging_transaction_fails_d18(plain: Any) -> None:
    servers = plain.bootstrap_servers
    run(servers, "topics", "create", "held", "-p", "1", "--wait")
    begin_hanging_transaction(servers, "held", 0, round(time.time() * 1000) - HOUR_MS)
    assert found(servers, "FAIL") == {"D18": "held:0 from offset 0"}


def test_short_retention_of_offsets_is_d19() -> None:
    with Broker({"offsets.retention.minutes": "60"}) as broker:
        assert "are kept for 1 h" in found(broker.bootstrap_servers, "warn")["D19"]


# -- time


class _OldClock(http.server.BaseHTTPRequestHandler):
    behind_ms = 7_000

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        now_ms = round(time.time() * 1000) - self.behind_ms
        self.wfile.write(json.dumps({"source": {"broker_id": 7, "time_ms": now_ms}}).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.parametrize(("behind_ms", "verdict"), [(7_000, "warn"), (700_000, "FAIL")])
def test_clock_of_a_broker_that_is_behind_is_d20(plain: Any, behind_ms: int, verdict: str) -> None:
    with http.server.HTTPServer(("127.0.0.1", 0), type("Behind", (_OldClock,), {"behind_ms": behind_ms})) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"http://127.0.0.1:{server.server_address[1]}"
        rows = found(plain.bootstrap_servers, verdict, "--v1", url, "--v1", plain.http_url)
        server.shutdown()
        thread.join()
    assert rows["D20"] == f"broker 7 is {'7.0 s' if behind_ms == 7_000 else '11 m 40 s'} behind"


def test_record_from_the_future_is_d21(plain: Any) -> None:
    servers = plain.bootstrap_servers
    run(servers, "topics", "create", "ahead", "-p", "1", "--wait")
    ahead_ms = round(time.time() * 1000) + 2 * HOUR_MS
    produce(servers, [Produced("ahead", 0, 0, at_ms, None, b"v") for at_ms in (ahead_ms - 2 * HOUR_MS, ahead_ms)])
    assert found(servers, "warn")["D21"].endswith("over an hour ahead: ahead-0 (offset 1)")


def test_offsets_that_expire_within_a_day_are_d22(plain: Any) -> None:
    servers = plain.bootstrap_servers
    run(servers, "topics", "create", "read", "-p", "1", "--wait")
    assert run(servers, "groups", "reset", "night", "--to", "earliest", "--topics", "read", "--execute").code == 0
    said = found(servers, "warn", "--v1", plain.http_url)["D22"]
    assert said.startswith("offsets of 1 group without members may expire: night in ")


# -- the machine of the broker


def settings_file(directory: Path, *lines: str) -> Path:
    file = directory / "broker.properties"
    logs = directory / "logs"
    logs.mkdir()
    file.write_text("\n".join([f"log.dirs={logs}", *lines]))
    return file


def test_healthy_machine_fails_no_check(plain: Any, tmp_path: Path) -> None:
    file = settings_file(tmp_path)
    log = tmp_path / "logs" / "orders-0"
    log.mkdir()
    (log / f"{0:020}.log").write_text("")
    rows = found(plain.bootstrap_servers, "ok", "--config", str(file))
    assert rows["D23"] == str(file)
    assert "the logs have 1 files" in rows["D24"]
    assert ": " in rows["D26"]
    assert [each.name for each in (tmp_path / "logs").iterdir()] == ["orders-0"], "nothing is left behind"


@pytest.mark.parametrize(
    ("line", "verdict", "words"),
    [
        ("num.partitions=none", "FAIL", "num.partitions=none"),
        ("log.retention.hors=1", "warn", "log.retention.hors"),
    ],
)
def test_settings_that_are_wrong_or_unknown_are_d23(
    plain: Any, tmp_path: Path, line: str, verdict: str, words: str
) -> None:
    file = settings_file(tmp_path, line)
    assert words in found(plain.bootstrap_servers, verdict, "--config", str(file))["D23"]


def test_low_limit_of_open_files_is_d24(plain: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    rows = found(plain.bootstrap_servers, "warn", "--config", str(settings_file(tmp_path)))
    assert rows["D24"].startswith("ulimit -n is 4096")


def test_missing_log_directory_fails_d25(plain: Any, tmp_path: Path) -> None:
    file = settings_file(tmp_path)
    (tmp_path / "logs").rmdir()
    assert "no such file or directory" in found(plain.bootstrap_servers, "FAIL", "--config", str(file))["D25"]


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no /dev/shm")
def test_log_directory_in_memory_is_d25(plain: Any, tmp_path: Path) -> None:
    file = tmp_path / "broker.properties"
    file.write_text("log.dirs=/dev/shm")
    rows = found(plain.bootstrap_servers, "warn", "--config", str(file))
    assert rows["D25"] == "/dev/shm is on tmpfs, memory: its data is lost with the machine"
