"""Sends requests to the current controller (Kafka: NodeToControllerChannelManager).

A request is retried until the controller answers it. UpdateMetadata says which broker is the controller, and may lag.
When it is this broker, its own handlers are called, without the network.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from ...base.frozen import frozen
from ...protocol.apis import ApiKey
from ...protocol.codec import Message
from ...protocol.errors import ErrorCode, KafkaError
from ..metadata.address import Address
from ..requests.context import Handler
from ..requests.failures import failure_response
from .broker_link import Link

__all__ = ["ControllerChannel", "ControllerLink", "IsControllerError", "LocalController", "LocalHandler"]

logger = logging.getLogger(__name__)

RETRY_SECONDS = 0.1
_NOBODY = -1


@frozen
class LocalController:
    """The controller in this process.

    Attributes:
        is_active: whether it is the cluster's controller now.
        handlers: handlers of the requests that brokers send to the controller.
    """

    is_active: Callable[[], bool]
    handlers: Mapping[ApiKey, Handler]


LocalHandler = Callable[[Any, int], Awaitable[Message]]
"""``(request, version) -> answer``. Raises KafkaError."""


class IsControllerError(ConnectionError):
    """This broker is the controller and has no handler for the request: the caller does the work itself."""


class ControllerChannel(Protocol):
    """The part of a `ControllerLink` that its users need; tests pass their own."""

    async def ask(self, request: Message, version: int, *, give_up_after_ms: int | None = None) -> Any: ...


class ControllerLink:
    """``controller_id()``: the id of the controller as far as known, or -1; ``is_active()``: whether it is this broker.

    ``link_to`` makes a link from a function that returns the address for each connection. ``timeout_ms``: for one try.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        broker_id: int,
        *,
        controller_id: Callable[[], int],
        is_active: Callable[[], bool],
        address_of: Callable[[int], Address | None],
        link_to: Callable[[Callable[[], Address | None]], Link],
        local: Mapping[ApiKey, LocalHandler],
        timeout_ms: int,
    ) -> None:
        self._loop = loop
        self._broker_id = broker_id
        self._controller_id = controller_id
        self._is_active = is_active
        self._address_of = address_of
        self._link_to = link_to
        self._local = local
        self._timeout_ms = timeout_ms
        self._linked_id = _NOBODY
        self._link: Link | None = None
        self._is_closed = False

    async def ask(self, request: Message, version: int, *, give_up_after_ms: int | None = None) -> Any:
        """The controller's response; retries until the controller answers.

        Raises TimeoutError after ``give_up_after_ms``, ConnectionError when this link is closed, and IsControllerError
        when this broker has become the controller and has no handler for the request.
        """
        deadline = None if give_up_after_ms is None else self._loop.time() + give_up_after_ms / 1000
        is_logged = False
        while not self._is_closed:
            timeout_ms = self._timeout_ms
            if deadline is not None:
                timeout_ms = min(timeout_ms, max(int((deadline - self._loop.time()) * 1000), 1))
            try:
                return await self._try(request, version, timeout_ms)
            except IsControllerError:
                raise
            except (ConnectionError, TimeoutError) as error:
                level = logging.DEBUG if is_logged else logging.INFO
                logger.log(level, "no response from the controller to %s: %s", type(request).__name__, error)
                is_logged = True
            if deadline is not None and self._loop.time() + RETRY_SECONDS > deadline:
                raise TimeoutError(f"no controller has answered within {give_up_after_ms} ms")
            await asyncio.sleep(RETRY_SECONDS)
        raise ConnectionError("the link to the controller is closed")

    async def ask_once(self, request: Message, version: int) -> Any:
        """The controller's response, without a retry. Raises ConnectionError, TimeoutError."""
        if self._is_closed:
            raise ConnectionError("the link to the controller is closed")
        async with asyncio.timeout(self._timeout_ms / 1000):  # also for a call of this broker's own handler
            return await self._try(request, version, self._timeout_ms)

    def kill(self) -> None:
        self._is_closed = True
        if self._link is not None:
            self._link.kill()

    async def close(self) -> None:
        self.kill()
        if self._link is not None:
            await self._link.close()

    async def _try(self, request: Message, version: int, timeout_ms: int) -> Message:
        answer: Message
        if self._is_active():
            answer = await self._ask_self(request, version)
        else:
            controller_id = self._controller_id()
            if controller_id in (_NOBODY, self._broker_id):
                raise ConnectionError("the controller is unknown")
            answer = await self._link_with(controller_id).ask(request, version, timeout_ms)
        if getattr(answer, "error_code", ErrorCode.NONE) == ErrorCode.NOT_CONTROLLER:
            raise ConnectionError("that broker is not the controller any more")
        return answer

    async def _ask_self(self, request: Message, version: int) -> Message:
        key = ApiKey(type(request).MESSAGE.api_key or 0)
        if key not in self._local:
            raise IsControllerError("this broker has become the controller")
        try:
            return await self._local[key](request, version)
        except KafkaError as error:
            failed: Message = failure_response(key, version, request, error)
            return failed

    def _link_with(self, controller_id: int) -> Link:
        if self._link is None or self._linked_id != controller_id:
            if self._link is not None:
                self._link.kill()
            self._linked_id = controller_id
            self._link = self._link_to(lambda: self._address_of(controller_id))
        return self._link
