"""A network for three brokers: each has one interface for clients and one for ZooKeeper and the other brokers.

Each broker runs in a network namespace of its own. Two bridges connect them: `clients` and `inside`. This process, its
clients and ZooKeeper are on both bridges. All of it vanishes with the namespace in which this process runs.
"""

import os
import subprocess
from pathlib import Path

from support.processes.small_disk import fill_up

__all__ = ["HOST", "Network"]

HOST = 254
_NETS = {"clients": "10.77.1", "inside": "10.77.2"}
_NAMES = Path("/run/netns")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, stdout=subprocess.DEVNULL)


class Network:
    """Network namespaces `b1`, `b2`, …, one for each broker id. Raises CalledProcessError if they can't be made."""

    def __init__(self, broker_ids: tuple[int, ...]) -> None:
        subprocess.run(["mount", "-t", "tmpfs", "run", "/run"], check=True)
        _NAMES.mkdir()
        _ip("link", "set", "lo", "up")
        for net, prefix in _NETS.items():
            _ip("link", "add", net, "type", "bridge")
            _ip("address", "add", f"{prefix}.{HOST}/24", "dev", net)
            _ip("link", "set", net, "up")
        for broker_id in broker_ids:
            _ip("netns", "add", f"b{broker_id}")
            _ip("-n", f"b{broker_id}", "link", "set", "lo", "up")
            for net, prefix in _NETS.items():
                outer, inner = f"{net}{broker_id}", f"{net}-in"
                _ip("link", "add", outer, "type", "veth", "peer", "name", inner, "netns", f"b{broker_id}")
                _ip("link", "set", outer, "master", net, "up")
                _ip("-n", f"b{broker_id}", "address", "add", f"{prefix}.{broker_id}/24", "dev", inner)
                _ip("-n", f"b{broker_id}", "link", "set", inner, "up")

    @staticmethod
    def address(net: str, host: int) -> str:
        return f"{_NETS[net]}.{host}"

    @staticmethod
    def command_at(broker_id: int) -> tuple[str, ...]:
        """Returns the start of a command that runs the rest of it at the broker's place."""
        return ("nsenter", f"--net={_NAMES}/b{broker_id}")

    @staticmethod
    def cut_off(broker_id: int) -> None:
        """Drops all packets between the broker and ZooKeeper and the other brokers. Clients still reach it."""
        _ip("link", "set", f"inside{broker_id}", "down")

    @staticmethod
    def heal(broker_id: int) -> None:
        _ip("link", "set", f"inside{broker_id}", "up")


class Disk:
    """A small file system in memory at `path`."""

    def __init__(self, path: Path, size_mib: int) -> None:
        self.path = path
        self._filler = path / ".filler"
        path.mkdir(parents=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "disk", str(path)], check=True)

    def fill(self) -> None:
        """Fills it by a file of another program."""
        fill_up(self._filler)

    def make_room(self) -> None:
        self._filler.unlink()

    def die(self) -> None:
        """Hides it: files that are open stay usable, but none can be opened, made or renamed."""
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,ro", "dead", str(self.path)], check=True)

    def come_back(self) -> None:
        subprocess.run(["umount", str(self.path)], check=True)

    def remove(self) -> None:
        while os.path.ismount(self.path):
            subprocess.run(["umount", "--lazy", str(self.path)], check=True)
