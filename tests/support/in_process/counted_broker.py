"""Runs a broker with TLS and logins, and counts what it holds for its connections.

As a program: prints the ports of its listeners, and an `Account` for each line of its input, as JSON.
"""

import asyncio
import gc
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvloop
from pybroker.broker.environment import Environment
from pybroker.broker.server import BrokerServer
from pybroker.config.load import load_config
from support.in_process.tls_ends import STORES
from support.security.sasl_broker import CANARY

__all__ = ["LOGIN_LISTENER", "PASSWORD", "TLS_LISTENER", "Account", "CountedBroker", "counted_broker"]

TLS_LISTENER, LOGIN_LISTENER = "SSL", "SASL_SSL"
PASSWORD = f"{CANARY}-alice"
"""User alice has it, for each mechanism."""
_PACKAGE = "org.apache.kafka.common.security"
_SETTINGS = {
    "listeners": "SSL://127.0.0.1:0,SASL_SSL://127.0.0.1:0",
    "inter.broker.listener.name": TLS_LISTENER,
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": str(STORES / "server.pem"),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": str(STORES / "authority.pem"),
    "listener.name.ssl.ssl.client.auth": "requested",
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{_PACKAGE}.plain.PlainLoginModule required "
    f'user_alice="{PASSWORD}";',
    "listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config": f"{_PACKAGE}.scram.ScramLoginModule required;",
    "connection.failed.authentication.delay.ms": "1",
}
_PARTS = ("pybroker.broker.network", "pybroker.broker.security", "ssl", "_ssl", "asyncio", "uvloop")


class Account(NamedTuple):
    """The memory and objects of a broker's connections. `sessions`: the TLS sessions that clients could resume.
    `objects`: the number of live objects of the modules in `_PARTS`, by class.
    """

    connections: int
    account_bytes: dict[str, int]
    handshakes: int
    sessions: int
    descriptors: int
    objects: dict[str, int]
    resident_kib: int


class CountedBroker:
    """The program, seen by a test."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.ports: dict[str, int] = json.loads(self._line())

    def account(self) -> Account:
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return Account(**json.loads(self._line()))

    def without_connections(self) -> Account:
        """The first account in which no connection is left."""
        while (account := self.account()).connections:
            pass
        return account

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the broker has ended"
        return line


@contextmanager
def counted_broker(directory: Path) -> Iterator[CountedBroker]:
    """A broker process with its data in ``directory``."""
    tests = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "support.in_process.counted_broker", str(directory)],
        cwd=tests,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield CountedBroker(process)
    finally:
        process.communicate()


async def _serve(directory: str) -> None:
    config = load_config("", {**_SETTINGS, "log.dirs": directory})
    server = BrokerServer(config, Environment(scram_users={"alice": PASSWORD}))
    await server.start()
    _print({endpoint.listener_name: endpoint.port for endpoint in server.endpoints})
    while await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        _print(_account_of(server)._asdict())
    await server.stop()


def _print(content: dict[str, Any]) -> None:
    print(json.dumps(content), flush=True)


def _account_of(server: BrokerServer) -> Account:
    gc.collect()
    listeners, encryption = server._listeners, server._protection._encryption
    assert listeners is not None
    assert encryption is not None
    memory = listeners._resources.memory
    sides = [listener._side for listener in encryption._listeners.values()]
    queues = [side.handshakes for side in sides if side.handshakes is not None]
    return Account(
        connections=listeners.connection_count + listeners._limits.total,
        account_bytes={each.name: each.used_bytes for each in (memory.frames, memory.responses)},
        handshakes=sum(queue.unanswered + queue.waiting for queue in queues),
        sessions=sum(side.context.session_stats()["number"] for side in sides),
        descriptors=len(os.listdir("/proc/self/fd")),
        objects=_live_objects(),
        resident_kib=_resident_kib(),
    )


def _live_objects() -> dict[str, int]:
    kinds = Counter(type(each) for each in gc.get_objects())
    return {
        f"{kind.__module__}.{kind.__qualname__}": count
        for kind, count in kinds.items()
        if str(kind.__module__).startswith(_PARTS)
    }


def _resident_kib() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


if __name__ == "__main__":
    uvloop.run(_serve(sys.argv[1]))
