"""How the controller speaks to brokers: one ordered queue a broker, one request in flight.

A channel carries message objects. With the embedded store the only broker is this one, and `LocalChannel` hands the
objects to its handlers.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

from ..protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrResponse
from ..protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from ..protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from .tree.znodes import BrokerInfo

__all__ = ["BrokerChannel", "BrokerQueue", "ChannelTo", "ControlRequest", "ControlResponse", "LocalChannel"]

logger = logging.getLogger(__name__)

ControlRequest = LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest
ControlResponse = LeaderAndIsrResponse | UpdateMetadataResponse | StopReplicaResponse


class BrokerChannel(Protocol):
    """The way to one broker."""

    async def send(self, request: ControlRequest) -> ControlResponse:
        """Deliver ``request`` and await the answer. Tries again for ever when the broker cannot be reached: whoever
        notices that it is gone closes the queue."""

    def kill(self) -> None:
        """Let go of the way there, at once; who waits in `send` gets an error or is cancelled."""

    async def close(self) -> None:
        """`kill`, and wait until nothing is left of it."""


ChannelTo = Callable[[int, Callable[[], BrokerInfo | None]], BrokerChannel]
"""``(broker id, its registration as it is now, None: there is none) -> channel``: an address may change on the way."""


class LocalChannel:
    """To this very broker: ``handlers`` take the message objects, at once or awaited."""

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
        """There is nothing to let go of."""

    async def close(self) -> None:
        """There is nothing to let go of."""


OnResponse = Callable[[ControlResponse], None]


class BrokerQueue:
    """The requests for one broker, sent in order and one at a time. ``on_failure`` hears of an error in the channel
    itself; the queue then goes on with the next request."""

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
        """Wait until everything put so far was answered."""
        await self._idle.wait()

    async def close(self) -> None:
        """Forget what waits and give up what is in flight."""
        task = self._task
        self.kill()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)
        await self._channel.close()

    def kill(self) -> None:
        """`close`, not waiting for the end of what is given up."""
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
