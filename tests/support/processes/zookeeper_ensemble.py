"""An ensemble of three ZooKeepers, of which two are enough."""

import socket
from collections.abc import Mapping
from pathlib import Path

from support.processes.kafka_process import ZooKeeperProcess
from support.processes.ports import free_port
from support.time.patience import await_answer

__all__ = ["ZooKeeperEnsemble"]

_SERVERS = (1, 2, 3)
_TIMEOUT_S = 1.0


class ZooKeeperEnsemble:
    """Servers 1 to 3. `settings` are added to the zoo.cfg of each."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        members = {f"server.{number}": f"127.0.0.1:{free_port()}:{free_port()}" for number in _SERVERS}
        together = {"initLimit": "40", "syncLimit": "10", **members, **settings}
        self.servers = {number: ZooKeeperProcess(directory / str(number), together) for number in _SERVERS}
        for number, server in self.servers.items():
            (server.directory / "zookeeper").mkdir()
            (server.directory / "zookeeper" / "myid").write_text(str(number))

    def connect(self) -> str:
        """Returns `zookeeper.connect` with the leader first."""
        leader = self.leader()
        order = sorted(self.servers, key=lambda number: number != leader)
        return ",".join(self.servers[number].connect for number in order)

    def start(self) -> "ZooKeeperEnsemble":
        for server in self.servers.values():
            server.begin()
        for server in self.servers.values():
            server.wait_until_ready()
        return self

    def kill(self) -> None:
        for server in self.servers.values():
            server.kill()

    def leader(self) -> int:
        """Returns the leading server."""

        def found() -> int | None:
            leaders = (number for number, server in self.servers.items() if "Mode: leader" in _said_by(server))
            return next(leaders, None)

        return await_answer(found, bool, "one of the servers leads") or 0


def _said_by(server: ZooKeeperProcess) -> str:
    """Returns the server's response to "srvr"; empty while it does not serve."""
    try:
        with socket.create_connection(("127.0.0.1", server.port), _TIMEOUT_S) as asked:
            asked.sendall(b"srvr")
            with asked.makefile() as answer:
                return answer.read()
    except OSError:
        return ""
