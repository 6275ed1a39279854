"""Clusters outside this process: one that runs already, a broker in a process of its own, Apache Kafka."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import pytest

from ..broker.library.cluster.members import BrokerMember
from ..broker.library.cluster.ports import HOST, free_ports
from ..protocol.errors import KafkaError
from .clients import Clients
from .failure_report import Section, last_lines
from .kafka_broker import KafkaBroker
from .outside_helpers import OutsideHelpers
from .outside_topics import create_topic_outside, delete_topics_outside

__all__ = ["OutsideKafka", "ProcessBroker"]

_NOT_HERE = frozenset((*(name for name in dir(KafkaBroker) if not name.startswith("_")), "clock", "log_file", "pid"))
"""The names that a broker of this program, or of a process, has and a cluster outside does not."""


class OutsideKafka(OutsideHelpers, Clients):
    """A cluster that others have started. Topics that a test creates there by fixtures are deleted after it.

    A test is skipped when it uses what only a broker that it starts has, such as ``snapshot``, ``acts`` or ``kill``.
    """

    thread_mark = ""

    def __init__(
        self, bootstrap_servers: str, preferred_client: str | None = None, deleted: set[str] | None = None
    ) -> None:
        """``deleted``: the topics that earlier tests have deleted there; grows by those of this one."""
        super().__init__(preferred_client)
        self._bootstrap_servers = bootstrap_servers
        self._created: list[str] = []
        self._deleted = set() if deleted is None else deleted

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients."""
        return self._bootstrap_servers

    def create_topic(
        self, topic: str, partitions: int | None = None, settings: Mapping[str, str | int | float] | None = None
    ) -> None:
        """Create a topic, and return when all brokers know its leaders."""
        create_topic_outside(self.bootstrap_servers, topic, partitions, settings or {}, self._deleted)
        self._deleted.discard(topic)
        self._created.append(topic)

    def report(self, since_ms: int) -> list[Section]:
        """For the report on a failed test. ``since_ms``: the wall clock when it began."""
        return []

    def end_troubles(self) -> None:
        """Do nothing, because a test cannot disturb this cluster."""

    def close(self) -> None:
        """Close the clients, and delete the topics that `create_topic` created."""
        self.close_clients()
        if self._created:
            with suppress(KafkaError, OSError):  # the cluster is gone, or refuses; the test is over
                delete_topics_outside(self.bootstrap_servers, self._created)
            self._deleted.update(self._created)

    def __getattr__(self, name: str) -> Any:
        if name in _NOT_HERE:
            self._refuse(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _refuse(self, name: str) -> NoReturn:
        pytest.skip(f"{name} needs a broker that the test starts, and --kafka names another cluster")


class ProcessBroker(OutsideKafka):
    """A broker in a process of its own, for tests that send it signals.

    Methods that need the broker itself, such as ``snapshot``, ``clock`` and ``faults``, raise RuntimeError.
    """

    def __init__(self, directory: Path, settings: Mapping[str, Any], preferred_client: str | None = None) -> None:
        (port,) = free_ports(1)
        super().__init__(f"{HOST}:{port}", preferred_client)
        given = {name: str(value) for name, value in settings.items()}
        own = {"listeners": f"PLAINTEXT://{HOST}:{port}", "log.dirs": str(directory / "data")}
        self._member = BrokerMember(0, directory, {"pybroker.http.listeners": "", **given, **own})
        self.start()

    @property
    def pid(self) -> int | None:
        """The process id; None while it does not run."""
        return self._member.pid

    @property
    def is_running(self) -> bool:
        """Whether the process runs; also True while it is paused."""
        return self._member.is_running

    @property
    def log_file(self) -> Path:
        """The file with its output."""
        return self._member.log_file

    def start(self) -> None:
        """Start it with the same data and port; return when it is ready. Raises StartError."""
        self._member.begin()
        self._member.wait_until_ready()

    def stop(self) -> None:
        """Stop it by SIGTERM."""
        self._member.stop()

    def kill(self) -> None:
        """Stop it by SIGKILL."""
        self._member.kill()

    def restart(self) -> None:
        """Stop it, then start it with the same data and port."""
        self._member.stop()
        self.start()

    def pause(self) -> None:
        """Stop its work by SIGSTOP; its connections stay."""
        self._member.pause()

    def resume(self) -> None:
        """End a pause."""
        self._member.resume()

    def end_troubles(self) -> None:
        """End a pause, because the end of clients would wait for the process."""
        if self.is_running:
            self.resume()

    def report(self, since_ms: int) -> list[Section]:
        """The last lines of its output."""
        return [("output of the process", last_lines(self.log_file))]

    def close(self) -> None:
        """Close the clients and kill the process."""
        self.end_troubles()
        self.close_clients()
        self._member.kill()

    def _refuse(self, name: str) -> NoReturn:
        raise RuntimeError(f"{name} needs a broker in this process: not with mode='process'")
