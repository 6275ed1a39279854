"""The processes of a cluster: brokers, and ZooKeeper in Java."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ....config.http_listeners import TEST_KIT
from ...start_error import StartError
from .kit_client import KitClient
from .member import Member
from .ports import HOST, free_ports, give_back

__all__ = ["BrokerMember", "JavaMember", "ZooKeeperMember", "zookeeper_serves"]

_BETWEEN_LOOKS_S = 0.01
_LAST_LINES = 20

_RUN_MODULE = "import sys, json; sys.path[:] = json.loads(sys.argv.pop(1)); from {module} import main; main()"


class ProcessMember(Member):
    """A member with a process of its own.

    It ends when this program ends, in whatever way, because it (or a shell beside it) reads a pipe from this program.
    """

    def __init__(self, name: str, directory: Path) -> None:
        super().__init__(name, directory)
        self._process: subprocess.Popen[bytes] | None = None
        self._log_begins = 0
        self._is_paused = False

    @property
    def pid(self) -> int | None:
        """The process id; None while it does not run."""
        process = self._process
        return None if process is None or process.poll() is not None else process.pid

    @property
    def is_running(self) -> bool:
        """Whether it runs; also True while it is paused."""
        return self.pid is not None

    @property
    def is_responsive(self) -> bool:
        """Whether it runs, and is not paused."""
        return self.is_running and not self._is_paused

    def begin(self) -> None:
        """Start the process without waiting. Raises RuntimeError when it runs."""
        if self.is_running:
            raise RuntimeError(f"{self.name} is already running")
        self._reap()
        self.directory.mkdir(parents=True, exist_ok=True)
        with self.log_file.open("ab") as log:
            self._log_begins = log.tell()
            # A session of its own: Ctrl-C goes to the program only, which then stops its members one by one.
            self._process = subprocess.Popen(
                self._command(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                start_new_session=True,
            )

    def wait_until_ready(self) -> None:
        """Raises StartError when the process ends before it is ready."""
        while self.is_running:
            if self._is_ready():
                return
            time.sleep(_BETWEEN_LOOKS_S)
        said = self._output().decode(errors="replace").splitlines()[-_LAST_LINES:]
        raise StartError(f"{self.name} ended before it was ready ({self.log_file}): " + "\n".join(said))

    def pause(self) -> None:
        """SIGSTOP. Raises RuntimeError when it does not run."""
        if not self.is_running:
            raise RuntimeError(f"{self.name} is not running")
        self._is_paused = True
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT. Harmless when it was not paused."""
        self._is_paused = False
        self._send(signal.SIGCONT)

    def kill(self) -> None:
        """``kill -9``; returns when it has ended. Harmless when it does not run."""
        self._send(signal.SIGKILL)
        self._reap()

    def stop(self) -> None:
        """SIGTERM, after resuming a paused process; returns when it has ended. Harmless when it does not run."""
        self.resume()
        self._send(signal.SIGTERM)
        self._reap()

    def _reap(self) -> None:
        process, self._process = self._process, None
        self._is_paused = False
        if process is not None:
            process.wait()
            assert process.stdin is not None
            process.stdin.close()

    def _send(self, number: signal.Signals) -> None:
        """Send a signal; harmless when it does not run."""
        process = self._process
        if process is not None:
            process.send_signal(number)

    def _output(self) -> bytes:
        """The output of the present run."""
        with self.log_file.open("rb") as log:
            log.seek(self._log_begins)
            return log.read()

    @abstractmethod
    def _command(self) -> Sequence[str]: ...

    @abstractmethod
    def _is_ready(self) -> bool: ...


class BrokerMember(ProcessMember):
    """A broker with ``settings``, which may be changed between its runs."""

    def __init__(
        self, broker_id: int, directory: Path, settings: Mapping[str, str], http_port: int | None = None
    ) -> None:
        """``http_port``: where its test kit is served; None: it has none."""
        super().__init__(f"broker {broker_id}", directory)
        self.settings = dict(settings)
        self._kit = None if http_port is None else KitClient(self.name, http_port)

    @property
    def kit(self) -> KitClient:
        """Its test kit. Raises RuntimeError if it has none."""
        if self._kit is None:
            raise RuntimeError(f"{self.name} has a process of its own, and no test kit: set {TEST_KIT}=true")
        return self._kit

    def act(self, act: str, **arguments: Any) -> Any:
        """The result of an act of `Acts`. Raises ActError, and RuntimeError if it has no test kit."""
        return self.kit.act(act, arguments)

    def _command(self) -> list[str]:
        file = self.directory / "server.properties"
        escaped = {name: value.replace("\\", "\\\\") for name, value in self.settings.items()}
        file.touch(0o600)  # it may contain passwords
        file.write_text("".join(f"{name}={value}\n" for name, value in escaped.items()))
        program = _RUN_MODULE.format(module=f"{__package__}.die_with_parent")
        return [sys.executable, "-c", program, json.dumps(sys.path), str(file)]

    def _is_ready(self) -> bool:
        return re.search(rb"pybroker is ready.*\n", self._output()) is not None


class JavaMember(ProcessMember):
    """A server in Java on a free port, whose data is safe when SIGKILL ends it. It ends with this program."""

    def __init__(self, name: str, directory: Path, java: str, jars: Path) -> None:
        super().__init__(name, directory)
        (self.port,) = free_ports(1)
        self._java = java
        self._jars = jars

    def close(self) -> None:
        """End it for good, and give its port back."""
        super().close()
        give_back([self.port])

    def _java_command(self, main_class: str, file: Path, *options: str) -> list[str]:
        java = [self._java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options, "-cp", f"{self._jars}/*"]
        # The shell reads the pipe. When the shell or Java ends, both do, because they are one process group.
        return ["sh", "-c", '("$@"; kill -9 0) & read -r _; kill -9 0', "java", *java, main_class, str(file)]

    def _send(self, number: signal.Signals) -> None:
        """Send a signal to the shell and Java."""
        pid = self.pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL if number == signal.SIGTERM else number)


class ZooKeeperMember(JavaMember):
    """A single ZooKeeper server. ``kept``: whether its data must survive a crash of this machine.

    ZooKeeper syncs all acknowledged data, so SIGKILL is a clean stop.
    """

    def __init__(self, directory: Path, java: str, jars: Path, *, kept: bool) -> None:
        super().__init__("ZooKeeper", directory, java, jars)
        self._force_sync = "yes" if kept else "no"

    def _command(self) -> list[str]:
        configuration = self.directory / "zoo.cfg"
        configuration.write_text(
            f"tickTime=500\ndataDir={self.directory / 'data'}\nclientPort={self.port}\nclientPortAddress={HOST}\n"
            "maxSessionTimeout=60000\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\nmaxClientCnxns=0\n"
        )
        options = ("-Xmx128m", f"-Dzookeeper.forceSync={self._force_sync}")
        return self._java_command("org.apache.zookeeper.server.quorum.QuorumPeerMain", configuration, *options)

    def _is_ready(self) -> bool:
        return zookeeper_serves(self.port)


def zookeeper_serves(port: int) -> bool:
    """Whether a ZooKeeper on this machine responds to "srvr", which its whitelist must allow."""
    try:
        with socket.create_connection((HOST, port), timeout=1) as asked:
            asked.sendall(b"srvr")
            return asked.recv(64).startswith(b"Zookeeper version")
    except OSError:
        return False
