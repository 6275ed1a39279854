"""Apache Kafka with its ZooKeeper as processes of this machine: the reference for tests and benchmarks."""

import os
import socket
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from pybroker.broker.library.cluster.members import zookeeper_serves
from support.processes.java import QUICK_TO_START, java_command
from support.processes.ports import free_port
from support.time.patience import await_that

__all__ = ["AS_DEFAULT", "KafkaProcess", "ZooKeeperProcess"]

AS_DEFAULT = {"forceSync": "yes"}
"""The settings of a ZooKeeper that waits for its disk, for comparisons of speed."""
LOG4J = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class JavaProcess:
    """A Java program. `ready`: the text in its output when it is ready, if there is one. `command_prefix`: a command
    that runs the rest of its arguments. `libs`: the folder of its jars; None: those of Kafka 3.9.1.
    """

    def __init__(
        self,
        directory: Path,
        ready: str | None = None,
        command_prefix: tuple[str, ...] = (),
        libs: Path | None = None,
    ) -> None:
        self.directory = directory
        self.lines: list[str] = []
        self._ready_text = ready
        self._command_prefix = command_prefix
        self._libs = libs
        self._ready = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "log4j.properties").write_text(LOG4J)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def _begin(
        self, main_class: str, *arguments: str, heap: str = "512m", options: tuple[str, ...] = QUICK_TO_START
    ) -> None:
        log4j = f"-Dlog4j.configuration=file:{self.directory / 'log4j.properties'}"
        command = java_command(main_class, *arguments, heap=heap, properties=(log4j,), options=options, libs=self._libs)
        self._ready.clear()
        self._process = subprocess.Popen(
            [*self._command_prefix, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ},
        )
        self._reader = threading.Thread(target=self._read_output, args=(self._process,), daemon=True)
        self._reader.start()

    def wait_until_ready(self) -> None:
        assert self._process is not None
        self._ready.wait()
        if self._process.poll() is not None:
            raise AssertionError(f"{type(self).__name__} did not start:\n{''.join(self.lines[-60:])}")

    def _read_output(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.append(line)
            if self._ready_text is not None and self._ready_text in line:
                self._ready.set()
        process.wait()
        self._ready.set()

    def stop(self) -> None:
        self._end(kill=False)

    def kill(self) -> None:
        self._end(kill=True)

    def _end(self, *, kill: bool) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if kill:
            process.kill()
        else:
            process.terminate()
        process.wait()
        if self._reader is not None:
            self._reader.join()
        if process.stdout is not None:
            process.stdout.close()


class ZooKeeperProcess(JavaProcess):
    """A ZooKeeper of one node on a free port. `settings` are added to its zoo.cfg. It does not wait for its disk unless
    they say so.
    """

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str] | None = None,
        jvm_options: tuple[str, ...] = QUICK_TO_START,
        libs: Path | None = None,
    ) -> None:
        super().__init__(directory, libs=libs)
        self.port = free_port()
        self._settings = dict(settings or {})
        self._jvm_options = jvm_options

    @property
    def connect(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> "ZooKeeperProcess":
        self.begin()
        self.wait_until_ready()
        return self

    def has_node_of_session(self, path: str) -> bool:
        """Tells whether there is this node, which ends with its session."""
        with socket.create_connection(("127.0.0.1", self.port)) as asked:
            asked.sendall(b"dump")
            listed = b"".join(iter(lambda: asked.recv(1 << 16), b"")).decode()
        return path in listed.split()

    def begin(self) -> None:
        """Starts the process without waiting."""
        configuration = self.directory / "zoo.cfg"
        configuration.write_text(
            f"tickTime=500\nforceSync=no\ndataDir={self.directory / 'zookeeper'}\nclientPort={self.port}\n"
            "clientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=*\nmaxClientCnxns=0\n"
            + "".join(f"{name}={value}\n" for name, value in self._settings.items())
        )
        main_class = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        self._begin(main_class, str(configuration), heap="128m", options=self._jvm_options)

    def wait_until_ready(self) -> None:
        """Waits until the server answers requests, because its log depends on the jars."""
        assert self._process is not None
        process = self._process
        await_that(lambda: zookeeper_serves(self.port) or process.poll() is not None, "ZooKeeper")
        if process.poll() is not None:
            raise AssertionError(f"ZooKeeper did not start:\n{''.join(self.lines[-60:])}")


class HasConnect(Protocol):
    """A ZooKeeper, or a tree that is served as by one."""

    @property
    def connect(self) -> str: ...


class KafkaProcess(JavaProcess):
    """An Apache Kafka broker in ZooKeeper mode with its data under `directory`."""

    def __init__(
        self,
        directory: Path,
        zookeeper: HasConnect,
        settings: Mapping[str, str] | None = None,
        heap: str = "512m",
        jvm_options: tuple[str, ...] = QUICK_TO_START,
        command_prefix: tuple[str, ...] = (),
        libs: Path | None = None,
    ) -> None:
        super().__init__(directory, "started (kafka.server.KafkaServer)", command_prefix, libs)
        self.port = free_port()
        self._heap = heap
        self._jvm_options = jvm_options
        self._settings = {
            "broker.id": "0",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "zookeeper.connect": zookeeper.connect,
            "log.dirs": str(self.log_directory),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **(settings or {}),
        }

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def log_directory(self) -> Path:
        return self.directory / "data"

    def start(self) -> "KafkaProcess":
        self.begin()
        self.wait_until_ready()
        return self

    def begin(self) -> None:
        """Starts the process without waiting."""
        file = self.directory / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in self._settings.items()))
        self._begin("kafka.Kafka", str(file), heap=self._heap, options=self._jvm_options)
