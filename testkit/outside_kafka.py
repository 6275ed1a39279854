"""A cluster outside this process: one that runs already, or Apache Kafka."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NoReturn

import pytest

from ..protocol.errors import KafkaError
from .clients import Clients
from .failure_report import Section
from .kafka_broker import KafkaBroker
from .outside_helpers import OutsideHelpers
from .outside_topics import create_topic_outside, delete_topics_outside

__all__ = ["OutsideKafka"]

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
