"""Finds the coordinator of a group or transactional id and asks it, until it gives a lasting response."""

import asyncio
from collections.abc import Callable
from typing import Any

from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from simulation.clients.client_link import LateError, UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.transactions.transaction_errors import FIND_AGAIN, PASSING, GivenUpError

__all__ = ["GROUP", "TRANSACTION", "CoordinatorLink"]

GROUP, TRANSACTION = 0, 1
"""Key types of FindCoordinator."""
_FIND_VERSION = 3
_ANSWER_S = 3.0
_CONCURRENT_S = 0.02
"""The pause of Kafka's Java client after CONCURRENT_TRANSACTIONS."""


class CoordinatorLink:
    """`is_over` returns whether the client shall stop. `late_requests` counts requests that may still arrive."""

    def __init__(self, client: ClusterClient, key: str, key_type: int, is_over: Callable[[], bool]) -> None:
        self._client = client
        self._key = key
        self._key_type = key_type
        self._is_over = is_over
        self._address: tuple[str, int] | None = None
        self._node_id = -1
        self.late_requests = 0

    def forget(self) -> None:
        """Find the coordinator again before the next request."""
        self._address = None

    async def ask_once(self, request: Message, version: int, timeout_s: float = _ANSWER_S) -> Any:
        """The response of the coordinator. Raises UnansweredError."""
        if self._address is None:
            answer = await self._client.ask_any(
                FindCoordinatorRequest(key=self._key, key_type=self._key_type), _FIND_VERSION
            )
            if answer.error_code:
                self._count("find coordinator", ErrorCode(answer.error_code))
                raise UnansweredError("no coordinator")
            self._address, self._node_id = (answer.host, answer.port), answer.node_id
        try:
            return await self._client.link(self._address).ask(request, version, timeout_s)
        except UnansweredError as error:
            self.late_requests += isinstance(error, LateError)
            self._address = None
            raise

    async def ask(
        self,
        request: Message,
        version: int,
        code_of: Callable[[Any], ErrorCode],
        no_result: Callable[[ErrorCode | None], None] = lambda code: None,
    ) -> tuple[ErrorCode, Any]:
        """The first lasting code, with its response. Raises GivenUpError.

        ``no_result`` is called with each passing code, and with None for each request without a response.
        """
        while True:
            code: ErrorCode | None = None
            try:
                answer = await self.ask_once(request, version)
                code = code_of(answer)
                if code not in PASSING:
                    return code, answer
            except UnansweredError:
                pass
            no_result(code)
            if code is not None:
                self._count(type(request).__name__.removesuffix("Request"), code)
            if code in FIND_AGAIN:
                self._address = None
            if self._is_over():
                raise GivenUpError
            if code is ErrorCode.CONCURRENT_TRANSACTIONS:
                await asyncio.sleep(_CONCURRENT_S)
            else:
                await self._client.back_off()

    def _count(self, what: str, code: ErrorCode) -> None:
        self._client.failed(f"transactions: {what}: {code.name}", self._node_id)
