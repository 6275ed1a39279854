"""FindCoordinator: which broker coordinates a group or a transactional id, and at which address.

When the internal topic is missing, its creation begins, and the response waits for it for a moment (100 ms; 1 s on a
single broker). Kafka answers COORDINATOR_NOT_AVAILABLE at once, which costs a first consumer another round trip; here
that means that the creation takes longer or is impossible, or that the partition has no leader. pybroker does not
coordinate transactions: in a cluster with brokers of Kafka the response names one of those. v0 one group · v1 key
types: groups or transactions (KIP-98) · v3 flexible · v4 many keys (KIP-699) · v5 TRANSACTION_ABORTABLE (KIP-890) · v6
share groups (KIP-932).
"""

import logging
from collections.abc import Awaitable
from enum import IntEnum
from typing import NamedTuple

from ....base.quiet_lines import QUIET
from ....protocol.errors import ErrorCode, error_for
from ....protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from ...coordinator.coordinator_directory import CoordinatorDirectory
from ...metadata.leader_hints import BrokerEndpoint
from ...requests.context import RequestContext

__all__ = ["CoordinatorType", "FindCoordinator"]

logger = logging.getLogger(__name__)

_FIRST_BATCHED_VERSION = 4
_LAST_VERSION_OF_LIBRDKAFKA = 2
_FIRST_SHARE_VERSION = 6


class CoordinatorType(IntEnum):
    """Key types of the request."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


class _Found(NamedTuple):
    key: str
    node: BrokerEndpoint | None
    error: ErrorCode
    message: str | None


class FindCoordinator:
    """Handler. When no broker serves transactions, producers get a fatal error, so that they do not wait."""

    def __init__(self, groups: CoordinatorDirectory, transactions: CoordinatorDirectory | None = None) -> None:
        self._directories = {CoordinatorType.GROUP: groups}
        if transactions is not None:
            self._directories[CoordinatorType.TRANSACTION] = transactions

    def __call__(
        self, context: RequestContext, request: FindCoordinatorRequest
    ) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
        """Answers at once when the internal topic exists."""
        keys = [request.key] if context.api_version < _FIRST_BATCHED_VERSION else request.coordinator_keys
        refusal = self._refusal(context, request.key_type)
        if refusal is not None:
            error, message = refusal
            return _response(context, [_Found(key, None, error, message) for key in keys])
        directory = self._directories[CoordinatorType(request.key_type)]
        found = [_look_up(directory, context, key) for key in keys]
        if all(one.error is not ErrorCode.COORDINATOR_NOT_AVAILABLE for one in found):
            return _response(context, found)
        return self._after_creation(directory, context, keys)

    async def _after_creation(
        self, directory: CoordinatorDirectory, context: RequestContext, keys: list[str]
    ) -> FindCoordinatorResponse:
        if await directory.ensure_topic():
            return _response(context, [_look_up(directory, context, key) for key in keys])
        return _response(context, [_refused(context, key) for key in keys])

    def _refusal(self, context: RequestContext, key_type: int) -> tuple[ErrorCode, str] | None:
        match key_type:
            case CoordinatorType.SHARE if context.api_version < _FIRST_SHARE_VERSION:
                return ErrorCode.INVALID_REQUEST, "Share groups need FindCoordinator version 6."
            case CoordinatorType.GROUP | CoordinatorType.TRANSACTION | CoordinatorType.SHARE:
                if CoordinatorType(key_type) in self._directories:
                    return None
                # Not COORDINATOR_NOT_AVAILABLE: on that error a client retries until its own timeout.
                if key_type == CoordinatorType.SHARE:
                    return ErrorCode.UNSUPPORTED_VERSION, "This broker does not serve share groups."
                return _refusal_of_transactions(context)
            case _:
                return ErrorCode.INVALID_REQUEST, f"Coordinator type {key_type} is unknown."


def _refusal_of_transactions(context: RequestContext) -> tuple[ErrorCode, str]:
    """An error that the client treats as fatal.

    librdkafka sends versions up to 2 and retries on UNSUPPORTED_VERSION. The Java client sends newer versions and would
    not show the message of TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
    """
    logger.warning(
        "client %s at %s needs transactions, which this broker does not serve; remove transactional.id (an idempotent "
        "producer needs none)",
        context.client_id,
        context.address,
        extra=QUIET,
    )
    is_old = context.api_version <= _LAST_VERSION_OF_LIBRDKAFKA
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED if is_old else ErrorCode.UNSUPPORTED_VERSION
    return code, "This broker does not serve transactions."


def _look_up(directory: CoordinatorDirectory, context: RequestContext, key: str) -> _Found:
    node = directory.node_of(directory.partition_for(key), context.address)
    if node is None:
        error = error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return _Found(key, None, error.code, error.message)
    return _Found(key, node, ErrorCode.NONE, None) if directory.serves(node.node_id) else _refused(context, key)


def _refused(context: RequestContext, key: str) -> _Found:
    return _Found(key, None, *_refusal_of_transactions(context))


def _response(context: RequestContext, found: list[_Found]) -> FindCoordinatorResponse:
    if context.api_version < _FIRST_BATCHED_VERSION:
        one = found[0]
        return FindCoordinatorResponse(
            error_code=one.error,
            error_message=one.error.name if one.message is None else one.message,
            node_id=-1 if one.node is None else one.node.node_id,
            host="" if one.node is None else one.node.host,
            port=-1 if one.node is None else one.node.port,
        )
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(
                key=one.key,
                node_id=-1 if one.node is None else one.node.node_id,
                host="" if one.node is None else one.node.host,
                port=-1 if one.node is None else one.node.port,
                error_code=one.error,
                error_message=one.message or "",
            )
            for one in found
        ]
    )
