"""A worker of Kafka Connect 3.9.1 in distributed mode, with the file connectors."""

import json
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from subprocess import Popen, TimeoutExpired
from typing import Any

from support.clients.foreign_clients import running
from support.processes.ports import free_port

__all__ = ["Worker"]

FILE_CONNECTOR = "org.apache.kafka.connect.file.FileStream{}Connector"
STRINGS = "org.apache.kafka.connect.storage.StringConverter"


class Worker:
    """A worker of the Connect cluster `name`, used by REST. Runs until `stack` is closed."""

    def __init__(
        self, servers: str, name: str, directory: Path, stack: ExitStack, settings: Mapping[str, object] | None = None
    ) -> None:
        self._port = free_port()
        values = {
            "bootstrap.servers": servers,
            "group.id": name,
            "key.converter": STRINGS,
            "value.converter": STRINGS,
            "offset.flush.interval.ms": 100,
            "offset.storage.partitions": 3,
            "status.storage.partitions": 2,
            "listeners": f"http://127.0.0.1:{self._port}",
            "plugin.discovery": "service_load",
            "scheduled.rebalance.max.delay.ms": 0,
            "heartbeat.interval.ms": 200,
            **{f"{kind}.storage.topic": f"{name}-{kind}" for kind in ("offset", "config", "status")},
            **{f"{kind}.storage.replication.factor": 1 for kind in ("offset", "config", "status")},
            **(settings or {}),
        }
        file = directory / f"worker-{self._port}.properties"
        file.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        self._process: Popen[str] = stack.enter_context(
            running("org.apache.kafka.connect.cli.ConnectDistributed", file)
        )

    def kill(self) -> None:
        """Kills by SIGKILL."""
        self._process.kill()
        self._process.wait()

    def ask(self, path: str, body: object = None) -> Any:
        """Sends a REST request; returns None while the worker does not answer, as during start or rebalance."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}", data, {"Content-Type": "application/json"}
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return json.load(answer)
        except OSError:  # includes HTTPError
            return None

    def create(self, name: str, kind: str, **settings: object) -> None:
        config = {"connector.class": FILE_CONNECTOR.format(kind), "tasks.max": "1", **settings}
        self.wait_until(lambda: self.ask(f"/connectors/{name}/config") or self._create(name, config))

    def _create(self, name: str, config: dict[str, object]) -> bool:
        return self.ask("/connectors", {"name": name, "config": config}) is not None

    def places(self) -> dict[str, str]:
        """Returns the worker of each connector and task."""
        connectors = self.ask("/connectors?expand=status") or {}
        states = [(name, one["status"]) for name, one in connectors.items()]
        parts = [
            (f"{name} {part.get('id', '')}", part)
            for name, state in states
            for part in (state["connector"], *state["tasks"])
        ]
        return {what: part["worker_id"] for what, part in parts if part["state"] == "RUNNING"}

    def wait_until(self, condition: Callable[[], object]) -> None:
        while not condition():
            try:
                self._process.wait(0.05)
            except TimeoutExpired:
                continue
            raise AssertionError("the worker ended by itself")
