"""Sends the controller's requests to brokers: one ordered queue for each broker, with one request in flight.

A channel transports message objects. For this very broker `LocalChannel` passes them to its handlers.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

from ..base.closing import AsyncClosable
from ..protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from ..protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from ..protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from .tree.znodes import BrokerInfo

__all__ = ["BrokerChannel", "BrokerQueue", "ChannelTo", "ControlRequest", "ControlResponse", "LocalChannel"]

ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
ControlResponse = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse


class BrokerChannel(AsyncClosable, Protocol):
    """The connection to one broker."""

    async def send(self, request: ControlRequest) -> ControlResponse:
        """Deliver ``request`` and return the response. Retries for ever while the broker cannot be reached, until the
        controller notices that the broker is gone and closes the queue."""


ChannelTo = Callable[[int, Callable[[], BrokerInfo | None]], BrokerChannel]
"""``(broker id, function that returns its current registration or None) -> channel``; the address may change."""


class LocalChannel:
    """The channel to this very broker: calls its handlers, which may be coroutines."""

    def __init__(
        self,
        *,
        leader_and_isr: Callable[[LeaderAndIsrRequest], LeaderAndIsrResponse | Awaitable[LeaderAndIsrResponse]],
        update_metadata: Callable[[UpdateMetadataRequest], UpdateMetadataResponse | Awaitable[UpdateMetadataResponse]],
        stop_replica: Callable[[StopReplicaRequest], StopReplicaResponse | Awaitable[StopReplicaResponse]],
    ) -> None:
        self._leader_and_isr = leader_and_isr
        self._update_metadata = update_metadata
        self._stop_replica = stop_replica

    async def send(self, request: ControlRequest) -> ControlResponse:
        answer: ControlResponse | Awaitable[ControlResponse]
        match request:
            case LeaderAndIsrRequest():
                answer = self._leader_and_isr(request)
            case UpdateMetadataRequest():
                answer = self._update_metadata(request)
            case StopReplicaRequest():
                answer = self._stop_replica(request)
        return await answer if isinstance(answer, Awaitable) else answer

    def kill(self) -> None:
        """Does nothing."""

    async def close(self) -> None:
        """Does nothing."""


OnResponse = Callable[[ControlResponse], None]


class BrokerQueue:
    """Sends the requests for one broker in order, one at a time.

    ``on_failure`` is called with an error of the channel itself; the queue then goes on with the next request.
    """

    def __init__(
        self, broker_id: int, channel: BrokerChannel, on_failure: Callable[[int, ControlRequest, Exception], None]
    ) -> None:
        self._broker_id = broker_id
        self._channel = channel
        self._on_failure = on_failure
        self._waiting: deque[tuple[ControlRequest, OnResponse | None]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    def put(self, request: ControlRequest, on_response: OnResponse | None = None) -> None:
        self._waiting.append((request, on_response))
        if self._task is None:
            self._idle.clear()
            self._task = asyncio.get_running_loop().create_task(
                self._run(), name=f"controller-to-broker-{self._broker_id}"
            )

    @property
    def is_idle(self) -> bool:
        return self._task is None

    async def drained(self) -> None:
        """Wait until every queued request was answered."""
        await self._idle.wait()

    async def close(self) -> None:
        """Drop the queue and cancel the request in flight."""
        task = self._task
        self.kill()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)
        await self._channel.close()

    def kill(self) -> None:
        """`close` without waiting for the cancelled request to end."""
        self._waiting.clear()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
        self._channel.kill()
        self._idle.set()

    async def _run(self) -> None:
        while self._waiting:
            request, on_response = self._waiting.popleft()
            try:
                response = await self._channel.send(request)
            except Exception as error:
                self._on_failure(self._broker_id, request, error)
                continue
            if on_response is not None:
                on_response(response)
        self._task = None
        self._idle.set()
