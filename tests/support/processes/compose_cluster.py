"""Runs the services of compose files as processes of this machine, by the image's own program."""

import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from pybroker.broker.commands.container.secret_files import with_secret_files
from pybroker.broker.commands.container.server_file import final_properties
from pybroker.broker.metadata.address import Address
from pybroker.config.config import Config
from pybroker.config.load import load_config
from support.processes.container_process import PATH, ContainerProcess
from support.processes.ports import free_port
from support.time.patience import await_answer

__all__ = ["BROKERS", "ComposeCluster", "config_of"]

BROKERS = ["broker-1", "broker-2", "broker-3"]
PYBROKER = [sys.executable, "-m", "pybroker"]
SECRETS = "/etc/kafka/secrets"
DATA = "/var/lib/kafka/data"
HERE = "127.0.0.1"


def config_of(service: Mapping[str, Any]) -> Config:
    """Returns the configuration that the image's program would start this service's broker with."""
    return load_config(final_properties(None, with_secret_files(service["environment"]), DATA))


class ComposeCluster:
    """The brokers, on free ports. `external` and `internal` have the addresses of their listeners.

    `zookeeper`: the address that stands for `zookeeper:2181`. `secrets` stands for the directory /etc/kafka/secrets.
    """

    def __init__(self, services: Mapping[str, Any], zookeeper: str, directory: Path) -> None:
        self._services = services
        self._directory = directory
        self._here = {"zookeeper:2181": zookeeper, SECRETS: str(directory / "secrets")}
        self._stack = ExitStack()
        self._processes: list[ContainerProcess] = []
        self.secrets = directory / "secrets"
        self.external: list[Address] = []
        self.internal: list[Address] = []

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(map(str, self.external))

    @property
    def output(self) -> str:
        """The output of all brokers."""
        return "".join(process.output for process in self._processes)

    def run_once(self, name: str) -> str:
        """Runs a service that ends by itself and must succeed; returns its output."""
        service = self._services[name]
        programs = self._directory / "bin"
        programs.mkdir(exist_ok=True)
        program = programs / "pybroker"
        program.write_text(f'#!/bin/sh\nexec {" ".join(PYBROKER)} "$@"\n')
        program.chmod(0o755)
        environment = {**self._environment(name), "PATH": f"{programs}:{PATH}"}
        command = [self._moved(word) for word in service["command"]]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def start(self, name: str) -> None:
        """Starts a broker, and waits until its health check succeeds."""
        internal, external = Address(HERE, free_port()), Address(HERE, free_port())
        self._here |= {f"{name}:19092": str(internal), "://:19092": f"://{internal}", "://:9092": f"://{external}"}
        self._here |= {f"localhost:{port}": str(external) for port in (9092, 9093, 9094)}
        home = self._directory / name
        config = str(home / "server.properties")
        paths = ["--mounted", str(home / "none"), "--config", config, "--data", str(home / "data")]
        # In a container each broker has the address of the HTTP endpoint for itself.
        http = {"KAFKA_PYBROKER_HTTP_LISTENERS": f"HTTP://127.0.0.1:{free_port()}"}
        process = ContainerProcess([*PYBROKER, "container", *paths], None, {**self._environment(name), **http})
        self._stack.enter_context(process)
        self._processes.append(process)
        check = partial(process.health, [*PYBROKER, "healthcheck", "--probe", "readyz", "--config", config])
        await_answer(check, lambda code: code == 0, f"{name} is healthy")
        self.internal.append(internal)
        self.external.append(external)

    def _environment(self, name: str) -> dict[str, str]:
        given = {
            variable: str(self.secrets / value) if variable.endswith("_FILENAME") else self._moved(value)
            for variable, value in self._services[name].get("environment", {}).items()
        }
        return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **given}

    def _moved(self, value: str) -> str:
        for compose, here in self._here.items():
            value = value.replace(compose, here)
        return value

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
