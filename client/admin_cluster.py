"""A blocking client of a cluster for people's commands: sends a request to the broker that must carry it out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ..protocol.codec import Message
from ..protocol.errors import ErrorCode, error_for
from ..protocol.messages.find_coordinator import FindCoordinatorRequest
from ..protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from .client_settings import ClientSettings
from .cluster import Cluster
from .connection import Connection
from .response_error import response_error

__all__ = ["GROUP", "TRANSACTION", "AdminCluster"]

T = TypeVar("T")

GROUP, TRANSACTION = 0, 1
"""The kinds of coordinators."""


class AdminCluster(Cluster):
    """Raises KafkaError, ConnectionError, TlsError."""

    @property
    def settings(self) -> ClientSettings:
        return self._settings

    def metadata(self, topics: Iterable[str] | None = ()) -> MetadataResponse:
        """The brokers and these topics; None: all topics."""
        names = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        found: MetadataResponse = self.ask_any(MetadataRequest(topics=names, allow_auto_topic_creation=False))
        return found

    def ask_any(self, request: Message) -> Any:
        """The response of the first broker that answers."""
        return self._ask_any(request)

    def ask_broker(self, broker_id: int, request: Message) -> Any:
        """The response of one broker."""
        return self.connection_to(broker_id).ask(request)

    def ask_brokers(self, requests: Mapping[int, Message]) -> dict[int, Any]:
        """The responses of several brokers, which work at the same time."""
        connections = {broker_id: self.connection_to(broker_id) for broker_id in requests}
        for broker_id, request in requests.items():
            connections[broker_id].send(request)
        return {broker_id: connections[broker_id].receive() for broker_id in requests}

    def ask_controller(self, request: Message) -> Any:
        """The response of the controller. A cluster that has just started gets time to choose one."""
        controller = self.metadata().controller_id
        if controller not in self._addresses:
            controller = self._retried(self._controller)
        return self.ask_broker(controller, request)

    def _controller(self) -> int:
        controller = self.metadata().controller_id
        if controller not in self._addresses:
            raise error_for(ErrorCode.NOT_CONTROLLER, "the cluster has no controller")
        return controller

    def ask_coordinator(self, key: str, request: Message, kind: int = GROUP) -> Any:
        """The response of the coordinator of a group or, by ``kind``, of a transactional id."""
        return self.ask_broker(self.coordinator_of(key, kind), request)

    def coordinator_of(self, key: str, kind: int = GROUP) -> int:
        """The id of the broker that coordinates a group or, by ``kind``, a transactional id."""
        found = self.ask_any(FindCoordinatorRequest(key=key, key_type=kind))
        if found.error_code:
            raise response_error(found, f"{'group' if kind == GROUP else 'transactional id'} {key}")
        self._addresses[found.node_id] = found.host, found.port
        return int(found.node_id)

    def connection_to(self, broker_id: int) -> Connection:
        """A connection to one broker."""
        if broker_id not in self._addresses:
            self.metadata()
        if broker_id not in self._addresses:
            raise error_for(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker_id} is not alive")
        return self._connection(self._addresses[broker_id])

    def retried(self, ask: Callable[[], T]) -> T:
        """The result of ``ask``, which is repeated while it fails with an error that passes."""
        return self._retried(ask)
