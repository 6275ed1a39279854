"""Requests that a broker makes to its own handlers for a test, with the patience of a client."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.errors import ErrorCode, KafkaError
from ..network.request import ConnectionInfo
from ..requests.context import Handler, RequestContext
from ..requests.failures import failure_response
from .act_error import ActError, NotHereError

__all__ = ["OwnRequests"]

_RETRIED = frozenset(
    (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.LEADER_NOT_AVAILABLE,
    )
)
_OF_ANOTHER_BROKER = frozenset((ErrorCode.NOT_CONTROLLER, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_LEADER_OR_FOLLOWER))
_PATIENCE_S = 10.0
_PAUSE_S = 0.005


class OwnRequests:
    """``handlers``: those of the broker, by API."""

    def __init__(self, handlers: Mapping[ApiKey, Handler], listener_name: str, clock_ms: Callable[[], int]) -> None:
        self._handlers = handlers
        self._clock_ms = clock_ms
        self._address = ConnectionInfo.of_this_broker(listener_name)

    async def ask(self, key: ApiKey, version: int, request: Any) -> Any:
        """The response of the handler, without looking at its error codes."""
        context = RequestContext(version, 0, "pybroker-test-kit", self._address, self._clock_ms())
        try:
            response = self._handlers[key](context, request)
            return await response if isinstance(response, Awaitable) else response
        except KafkaError as error:
            return failure_response(key, version, request, error)

    async def ask_until_done(
        self, key: ApiKey, version: int, request: Any, code_of: Callable[[Any], tuple[int, str | None]]
    ) -> Any:
        """The response without an error. Errors that pass are waited for. Raises ActError for others, and at the end
        of the patience. ``code_of``: the code and message in a response."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + _PATIENCE_S
        while True:
            response = await self.ask(key, version, request)
            code, message = code_of(response)
            if not code:
                return response
            if code not in _RETRIED or loop.time() > until_s:
                name = ErrorCode(code).name
                kind = NotHereError if code in _OF_ANOTHER_BROKER else ActError
                raise kind(f"{API_SPECS[key].name}: {name}{f' ({message})' if message else ''}")
            await asyncio.sleep(_PAUSE_S)

    async def until(self, is_so: Callable[[], Awaitable[bool]], what: str) -> None:
        """Wait until something that the broker decides is so. Raises ActError at the end of the patience."""
        loop = asyncio.get_running_loop()
        until_s = loop.time() + _PATIENCE_S
        while not await is_so():
            if loop.time() > until_s:
                raise ActError(f"{what}: not done after {_PATIENCE_S:g} s")
            await asyncio.sleep(_PAUSE_S)
