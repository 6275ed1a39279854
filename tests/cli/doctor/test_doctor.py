"""`pybroker doctor` at ports and brokers that are wrong on purpose; each check is named by its number."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest
from pybroker import Broker
from pybroker.cli.doctor.shapes import Diagnosis
from support.clients.commands import Pybroker, Ran, rows_of, run
from support.in_process.tls_ends import STORES
from support.processes.ports import free_port
from support.security.sasl_broker import CANARY, SASL_SETTINGS

TLS_SETTINGS = {
    "listeners": "SSL://127.0.0.1:0",
    "security.inter.broker.protocol": "SSL",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": str(STORES / "server.pem"),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": str(STORES / "authority.pem"),
}
TLS = ("-X", "security.protocol=SSL", "-X", "ssl.truststore.type=PEM", "-X")
PASSWORD = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def verdicts(ran: Ran, verdict: str = "FAIL") -> dict[str, str]:
    """The findings of the checks with this verdict, by number."""
    rows = rows_of(ran.out, Diagnosis)
    assert ran.code == (10 if any(row["verdict"] == "FAIL" for row in rows) else 0), ran.err
    return {row["check"]: row["finding"] for row in rows if row["verdict"] == verdict}


def examined(servers: str, *options: str) -> Ran:
    return run(servers, "doctor", "-o", "json", "--timeout", "10", *options)


@pytest.fixture(scope="module")
def plain() -> Iterator[str]:
    with Broker({"broker.id": "3"}) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="module")
def tls() -> Iterator[str]:
    with Broker(TLS_SETTINGS) as broker:
        yield broker.bootstrap_servers


@pytest.fixture(scope="module")
def sasl() -> Iterator[str]:
    with Broker(SASL_SETTINGS) as broker:
        yield broker.bootstrap_servers


def test_address_may_be_an_argument(plain: str, pybroker: Pybroker) -> None:
    assert pybroker("doctor", "-o", "name", plain).code == 0
    closed = f"127.0.0.1:{free_port()}"
    assert pybroker("doctor", closed).code == 10
    assert pybroker("doctor", "-b", closed).code == 10
    wrong = pybroker("doctor", "--json")
    assert (wrong.code, wrong.out) == (2, "")
    assert "unrecognized arguments: --json; did you mean -o json?" in wrong.err


def test_healthy_broker_fails_no_check(plain: str) -> None:
    ran = examined(plain)
    assert verdicts(ran) == verdicts(ran, "warn") == {}
    assert list(verdicts(ran, "skipped")) == ["D05", "D20", "D22", "D23", "D24", "D25", "D26"]
    assert verdicts(ran, "ok")["D07"] == "all speak like Kafka 3.9"


def test_checks_that_lack_the_same_fact_share_a_line() -> None:
    ran = run("127.0.0.1:1", "doctor")
    lines = ran.out.splitlines()
    assert lines[1].startswith(
        "FAIL     D02  the port accepts connections: 127.0.0.1:1 does not let this machine connect"
    )
    assert lines[2].startswith("              try  start the broker")
    assert "skipped  D07 to D19: the cluster did not answer" in lines
    assert lines[-1] == "skipped  D23 to D26: give --config FILE on the broker's machine"
    assert ran.code == 10


def test_doctor_only_warns_when_one_of_two_bootstrap_addresses_is_wrong(plain: str) -> None:
    ran = examined(f"127.0.0.1:1,{plain}")
    assert verdicts(ran) == {}
    assert list(verdicts(ran, "warn")) == ["D02"]


def test_tls_client_at_a_plain_port_fails_d03(plain: str) -> None:
    failed = verdicts(examined(plain, "-X", "security.protocol=SSL"))
    assert failed["D03"] == f"{plain} speaks Kafka's protocol in plain text"


def test_plain_client_at_a_tls_port_fails_d03(tls: str) -> None:
    assert verdicts(examined(tls))["D03"] == f"{tls} speaks Kafka's protocol in TLS"


def test_certificate_is_accepted_only_from_the_authority_that_is_trusted(tls: str) -> None:
    trusting = examined(tls, *TLS, f"ssl.truststore.location={STORES / 'authority.pem'}")
    assert verdicts(trusting) == {}
    assert "is valid for" in verdicts(trusting, "ok")["D05"]
    distrusting = examined(tls, *TLS, f"ssl.truststore.location={STORES / 'other-authority.pem'}")
    assert list(verdicts(distrusting)) == ["D05", "D06"]


class _WebPage(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def served(server: HTTPServer) -> Iterator[str]:
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_web_server_on_the_port_fails_d03() -> None:
    _WebPage.timeout = 0.2
    with served(HTTPServer(("127.0.0.1", 0), _WebPage)) as address:
        assert verdicts(examined(address))["D03"] == f"{address} speaks HTTP"


def test_port_that_closes_each_connection_fails_d03() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"

        def close_all() -> None:
            try:
                while True:
                    listener.accept()[0].close()
            except OSError:
                return

        thread = threading.Thread(target=close_all)
        thread.start()
        failed = verdicts(examined(address))
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert failed["D03"] == f"{address} speaks a protocol that is not Kafka's, or nothing"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "wants a login (SASL, with OAUTHBEARER, PLAIN, SCRAM-SHA-256, SCRAM-SHA-512)"),
        (("PLAIN", f'{PASSWORD} username="alice" password="wrong";'), "uthentication"),
    ],
)
def test_missing_or_refused_login_fails_d04(sasl: str, options: tuple[str, ...], words: str) -> None:
    assert words in verdicts(examined(sasl, *login(*options)))["D04"]


def test_login_that_is_accepted_fails_no_check(sasl: str) -> None:
    ran = examined(sasl, *login("PLAIN", f'{PASSWORD} username="alice" password="{CANARY}-alice";'))
    assert verdicts(ran) == {}
    assert verdicts(ran, "ok")["D04"] == "PLAIN is accepted"
    assert CANARY not in ran.out


def test_login_at_a_listener_without_one_fails_d04(plain: str) -> None:
    failed = verdicts(examined(plain, *login("PLAIN", f'{PASSWORD} username="alice" password="x";')))
    assert failed["D04"] == f"{plain} wants no login, but the client logs in with PLAIN"


def login(mechanism: str = "", module: str = "") -> tuple[str, ...]:
    if not mechanism:
        return ()
    settings = ("security.protocol=SASL_PLAINTEXT", f"sasl.mechanism={mechanism}", f"sasl.jaas.config={module}")
    return tuple(part for setting in settings for part in ("-X", setting))


@contextmanager
def advertised(address: str) -> Iterator[str]:
    """A broker that advertises this address, and the address that it listens at."""
    own = f"127.0.0.1:{free_port()}"
    with Broker({"listeners": f"PLAINTEXT://{own}", "advertised.listeners": f"PLAINTEXT://{address}"}):
        yield own


def test_advertised_address_where_nothing_listens_fails_d08() -> None:
    with advertised("127.0.0.1:1") as address:
        failed = verdicts(examined(address, "--timeout", "1"))
    assert list(failed) == ["D08"]
    assert 'tells clients "127.0.0.1:1"; 127.0.0.1:1 does not let this machine connect' in failed["D08"]


def test_advertised_address_of_another_cluster_fails_d09(plain: str) -> None:
    with advertised(plain) as address:
        failed = verdicts(examined(address))
    assert list(failed) == ["D09"]
    assert f"at {plain} is of cluster " in failed["D09"]
