"""FindCoordinator: which broker coordinates a group or a transactional id, and at which address.

When the internal topic is missing, its creation begins, and the response waits for it for a moment (100 ms; 1 s on a
single broker). Kafka answers COORDINATOR_NOT_AVAILABLE at once, which costs a first consumer another round trip; here
that means that the creation takes longer or is impossible, or that the partition has no leader. v0 one group · v1 key
types: groups or transactions (KIP-98) · v3 flexible · v4 many keys (KIP-699) · v5 TRANSACTION_ABORTABLE (KIP-890) · v6
share groups (KIP-932).
"""

from collections.abc import Awaitable
from enum import IntEnum
from typing import NamedTuple

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode, error_for
from ....protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from ...coordinator.coordinator_directory import CoordinatorDirectory
from ...coordinator.share.coordinator_key import is_coordinator_key
from ...metadata.leader_hints import BrokerEndpoint
from ...requests.context import RequestContext
from ...requests.denial import denial
from ...requests.throttling import Throttling

__all__ = ["CoordinatorType", "FindCoordinator"]

_FIRST_BATCHED_VERSION = 4
_FIRST_SHARE_VERSION = 6


class CoordinatorType(IntEnum):
    """Key types of the request."""

    GROUP = 0
    TRANSACTION = 1
    SHARE = 2


_RESOURCE_TYPES = {
    CoordinatorType.GROUP: AclResourceType.GROUP,
    CoordinatorType.TRANSACTION: AclResourceType.TRANSACTIONAL_ID,
}


class _Found(NamedTuple):
    key: str
    node: BrokerEndpoint | None
    error: ErrorCode
    message: str | None


class FindCoordinator:
    """Handler."""

    def __init__(
        self,
        groups: CoordinatorDirectory,
        transactions: CoordinatorDirectory,
        throttling: Throttling,
        share: CoordinatorDirectory | None = None,
    ) -> None:
        """``share``: None where share groups are not served."""
        self._throttling = throttling
        self._directories = {CoordinatorType.GROUP: groups, CoordinatorType.TRANSACTION: transactions}
        if share is not None:
            self._directories[CoordinatorType.SHARE] = share

    def __call__(
        self, context: RequestContext, request: FindCoordinatorRequest
    ) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
        """Answers at once when the internal topic exists."""
        keys = [request.key] if context.api_version < _FIRST_BATCHED_VERSION else request.coordinator_keys
        refusal = _refusal(context, request.key_type, serves_share=CoordinatorType.SHARE in self._directories)
        if refusal is not None:
            error, message = refusal
            return _response(context, [_Found(key, None, error, message) for key in keys])
        directory = self._directories[CoordinatorType(request.key_type)]
        resource_type = _RESOURCE_TYPES.get(CoordinatorType(request.key_type))
        found = [_look_up(directory, context, key, resource_type) for key in keys]
        if all(one.error is not ErrorCode.COORDINATOR_NOT_AVAILABLE for one in found):
            return _response(context, found)
        return self._after_creation(directory, context, found)

    async def _after_creation(
        self, directory: CoordinatorDirectory, context: RequestContext, found: list[_Found]
    ) -> FindCoordinatorResponse:
        await directory.ensure_topic(self._throttling.auto_created(context))
        is_missing = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return _response(
            context, [_find(directory, context, one.key) if one.error is is_missing else one for one in found]
        )


def _refusal(context: RequestContext, key_type: int, *, serves_share: bool) -> tuple[ErrorCode, str] | None:
    """The error of all keys."""
    match key_type:
        case CoordinatorType.GROUP | CoordinatorType.TRANSACTION:
            return None
        case CoordinatorType.SHARE if context.api_version < _FIRST_SHARE_VERSION:
            return ErrorCode.INVALID_REQUEST, "Share groups need FindCoordinator version 6."
        case CoordinatorType.SHARE:
            context.require_on_cluster(AclOperation.CLUSTER_ACTION)
            if serves_share:
                return None
            # Not COORDINATOR_NOT_AVAILABLE: on that error a client retries until its own timeout.
            return ErrorCode.UNSUPPORTED_VERSION, "This broker does not serve share groups."
        case _:
            return ErrorCode.INVALID_REQUEST, f"Coordinator type {key_type} is unknown."


def _look_up(
    directory: CoordinatorDirectory, context: RequestContext, key: str, resource_type: AclResourceType | None
) -> _Found:
    """``resource_type``: None for share partitions."""
    if resource_type is None:
        if not is_coordinator_key(key):
            return _Found(key, None, ErrorCode.INVALID_REQUEST, "A key must have the form groupId:topicId:partition.")
    elif not context.may(AclOperation.DESCRIBE, resource_type, key):
        error = denial(resource_type)
        return _Found(key, None, error.code, error.message)
    return _find(directory, context, key)


def _find(directory: CoordinatorDirectory, context: RequestContext, key: str) -> _Found:
    node = directory.node_of(directory.partition_for(key), context.address)
    if node is None:
        error = error_for(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return _Found(key, None, error.code, error.message)
    return _Found(key, node, ErrorCode.NONE, None)


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
