"""Rows about new connections: TLS handshakes and logins, and how long another client waits meanwhile."""

import subprocess
import sys
import time
from typing import NamedTuple

from pybroker.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from support.clients.wire_client import WireClient

from benchmarks.connection_load import FULL, ITERATIONS, RESUMED, SALT, SCRAM, USER, salted_password
from benchmarks.secured import SecuredSite
from benchmarks.targets import Target, at_least, at_most, ratio_at_least
from benchmarks.waits import longest_wait_during
from benchmarks.workloads import Site, Workload

__all__ = ["CONNECTION_WORKLOADS"]

_PROCESSES = 4
_WARM_UP = 3000
"""After so many Kafka's JIT has compiled what a connection needs."""
_SCRAM_SHA_512 = 2
_RESUMED = "resumed %"


def _secured(site: Site) -> SecuredSite:
    assert isinstance(site, SecuredSite)
    return site


class _Done(NamedTuple):
    connections: int
    resumed: int
    seconds: float


def _connect(site: SecuredSite, kind: str, connections: int) -> _Done:
    """Opens the connections by several processes."""
    port = site.sasl_port if kind == SCRAM else site.tls_port
    count = max(int(connections * site.scale) // _PROCESSES, 1)
    command = [sys.executable, "-m", "benchmarks.connection_load", kind, str(port), str(count)]
    clients = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(_PROCESSES)
    ]
    try:
        _read_lines(clients)
        started = time.monotonic()
        for client in clients:
            assert client.stdin is not None
            client.stdin.write("\n")
            client.stdin.flush()
        resumed = sum(map(int, _read_lines(clients)))
        return _Done(count * _PROCESSES, resumed, time.monotonic() - started)
    finally:
        for client in clients:
            client.kill()
            client.communicate()


def _read_lines(clients: list["subprocess.Popen[str]"]) -> list[str]:
    """Returns one line of each process."""
    lines = []
    for client in clients:
        assert client.stdout is not None
        lines.append(client.stdout.readline())
        if not lines[-1]:
            raise RuntimeError("a process that opens connections failed; its error is above")
    return lines


def _make_user(site: SecuredSite) -> None:
    user = ScramCredentialUpsertion(
        name=USER, mechanism=_SCRAM_SHA_512, iterations=ITERATIONS, salt=SALT, salted_password=salted_password()
    )
    with WireClient(f"127.0.0.1:{site.plain_port}") as client:
        (result,) = client.ask(AlterUserScramCredentialsRequest(upsertions=[user]), 0).results
    assert not result.error_code, result


def _row(title: str, name: str, kind: str, connections: int, *targets: Target) -> Workload:
    """``name``: what is counted."""

    def prepare(site: Site) -> None:
        secured = _secured(site)
        if kind == SCRAM:
            _make_user(secured)
        _connect(secured, kind, _WARM_UP)

    def run(site: Site) -> dict[str, float]:
        secured = _secured(site)
        done, longest_ms = longest_wait_during(secured.plain_port, lambda: _connect(secured, kind, connections))
        figures = {f"{name}/s": done.connections / done.seconds, "longest wait ms": longest_ms}
        return figures | ({_RESUMED: 100 * done.resumed / done.connections} if kind == RESUMED else {})

    everywhere = (ratio_at_least(f"{name}/s", 0.8), at_most("longest wait ms", 50))
    return Workload(f"security: {title}, {_PROCESSES} clients", (*everywhere, *targets), prepare, run)


CONNECTION_WORKLOADS = (
    _row("3,000 full handshakes", "handshakes", FULL, 3000),
    _row("4,000 handshakes that may resume", "handshakes", RESUMED, 4000, at_least(_RESUMED, 100)),
    _row("6,000 SCRAM logins", "logins", SCRAM, 6000),
)
