"""Sends the controller's requests to another broker and retries until it answers (Kafka's RequestSendThread).

After a broken connection nobody knows whether the broker carried out the request, so it is sent again. That is
harmless: brokers refuse requests of an older controller and for an earlier broker epoch.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from ...config.config import Config
from ...controller.broker_channel import ControlRequest, ControlResponse
from ...controller.tree.znodes import BrokerInfo
from ...protocol.messages.leader_and_isr import LeaderAndIsrRequest
from ...protocol.messages.stop_replica import StopReplicaRequest
from ...protocol.messages.update_metadata import UpdateMetadataRequest
from ..metadata.address import Address
from .broker_link import Link
from .link_factory import LinkFactory
from .request_versions import RequestVersions

__all__ = ["RETRY_SECONDS", "RemoteChannel", "channel_over_network"]

logger = logging.getLogger(__name__)

RETRY_SECONDS = 0.1
_LEADER_RECOVERY_SINCE = 6


def channel_over_network(
    links: LinkFactory,
    config: Config,
    controller_id: int,
    broker_id: int,
    registration: Callable[[], BrokerInfo | None],
) -> "RemoteChannel":
    """From the controller on broker ``controller_id`` to broker ``broker_id`` at its currently registered address."""
    control_plane = config.optional_string("control.plane.listener.name")
    listener = control_plane.upper() if control_plane else config.inter_broker_listener_name

    def address() -> Address | None:
        info = registration()
        endpoint = info.endpoint(listener) if info is not None else None
        return Address(endpoint.host, endpoint.port) if endpoint is not None else None

    link = links.link_to(address, listener, str(controller_id), config)
    versions = RequestVersions.of(config.string("inter.broker.protocol.version"))
    return RemoteChannel(broker_id, link, versions, config.int("request.timeout.ms"))


class RemoteChannel:
    """`BrokerChannel` to broker ``broker_id`` over ``link``. ``timeout_ms``: for one try."""

    def __init__(self, broker_id: int, link: Link, versions: RequestVersions, timeout_ms: int) -> None:
        self._broker_id = broker_id
        self._link = link
        self._versions = versions
        self._timeout_ms = timeout_ms

    async def send(self, request: ControlRequest) -> ControlResponse:
        """The response. Retries without end: the controller cancels the call when the broker's registration is gone."""
        version = self._version_of(request)
        readable = _as_of(request, version)
        failed_before = False
        while True:
            try:
                answer: ControlResponse = await self._link.ask(readable, version, self._timeout_ms)
            except (ConnectionError, TimeoutError) as error:
                if not failed_before:
                    name = type(request).__name__
                    logger.warning("controller: %s to broker %d failed, retrying: %s", name, self._broker_id, error)
                failed_before = True
                await asyncio.sleep(RETRY_SECONDS)
            else:
                return answer

    def kill(self) -> None:
        self._link.kill()

    async def close(self) -> None:
        await self._link.close()

    def _version_of(self, request: ControlRequest) -> int:
        match request:
            case LeaderAndIsrRequest():
                return self._versions.leader_and_isr
            case UpdateMetadataRequest():
                return self._versions.update_metadata
            case StopReplicaRequest():
                return self._versions.stop_replica


def _as_of(request: ControlRequest, version: int) -> ControlRequest:
    """The request without fields that the version lacks; its readers do not need them."""
    if not isinstance(request, LeaderAndIsrRequest) or version >= _LEADER_RECOVERY_SINCE:
        return request
    topics = [
        replace(topic, partition_states=[replace(state, leader_recovery_state=0) for state in topic.partition_states])
        for topic in request.topic_states
    ]
    return replace(request, topic_states=topics)
