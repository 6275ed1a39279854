"""The context of a request beyond its message, what its client may do, and the types of a handler's result."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

from ...base.acl_rules.operations_of_types import OPERATIONS_OF_TYPES
from ...base.acls import CLUSTER_NAME, AclOperation, AclResourceType
from ...protocol.errors import ClusterAuthorizationError
from ..network.request import CloseConnectionError, ConnectionInfo, Request
from ..security.principal import Principal
from .authorized_operations import ALL_OPERATIONS, operation_bits
from .denial import denial

__all__ = ["Authorizer", "CloseConnectionError", "EncodedResponse", "Handler", "RequestContext"]

_NOTHING: frozenset[str] = frozenset()


class Authorizer(Protocol):
    """Decides what clients may do. It answers at once, from memory."""

    @property
    def known(self) -> Mapping[tuple[object, str, AclOperation, AclResourceType, str], bool]:
        """Verdicts by principal, host, operation, type and name; an allowed access here needs no line in the log."""

    def may(
        self,
        principal: Principal,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str,
        *,
        is_quiet: bool,
        api_key: int,
        count: int,
    ) -> bool:
        """``is_quiet``: a denial is no event for the log, because the client did not name the resource, or may do the
        same with another right. ``api_key`` of the request, and how often it names the resource: for the log too."""

    def may_by_resource_type(
        self,
        principal: Principal,
        host: str,
        operation: AclOperation,
        resource_type: AclResourceType,
        *,
        api_key: int,
    ) -> bool:
        """Whether the principal may do the operation with any resource of the type."""


@dataclass(slots=True)  # not frozen: that costs a microsecond a request
class RequestContext:
    """``frame_bytes`` is the size of the request's frame, ``now_ms`` the wall clock when the frame was complete,
    ``address`` both ends of the connection and its listener.

    Each handler asks here for each right that Kafka asks for. Without an authorizer everybody may do everything, and
    this broker itself may in any case.
    """

    api_version: int
    frame_bytes: int
    client_id: str | None
    address: ConnectionInfo
    now_ms: int
    abandon: Callable[[], None] | None = None
    """Set by a handler whose response may take long: called when the connection is lost before."""
    request: Request | None = None
    """None when the request came by no connection."""
    authorizer: Authorizer | None = None
    replica_id: int = -1
    """The broker whose follower fetches, set by Fetch; -1: a client, whose quotas count."""

    @classmethod
    def of(cls, request: Request, authorizer: Authorizer | None = None) -> "RequestContext":
        return cls(
            request.api_version,
            len(request.frame),
            request.client_id,
            request.connection,
            request.received_ms,
            None,
            request,
            authorizer,
        )

    def fetched_by(self, replica_id: int) -> None:
        """The request is a fetch of another broker's follower."""
        self.replica_id = replica_id
        if self.request is not None:
            self.request.is_from_follower = True

    def throttle(self, duration_ms: int) -> None:
        """Have the response tell the client to wait, and the connection not read meanwhile. The longest time counts."""
        if self.request is not None:
            self.request.throttle(duration_ms)

    @property
    def is_follower(self) -> bool:
        return self.replica_id >= 0

    @property
    def principal(self) -> Principal:
        """The client that sent the request."""
        return self.address.principal

    def may(
        self,
        operation: AclOperation,
        resource_type: AclResourceType,
        name: str,
        *,
        is_quiet: bool = False,
        count: int = 1,
    ) -> bool:
        """Whether the client may do the operation with the resource. ``is_quiet``, ``count``: see `Authorizer.may`."""
        authorizer, address = self.authorizer, self.address
        if authorizer is None or address.is_this_broker:
            return True
        if authorizer.known.get((address.principal, address.peer_host, operation, resource_type, name)):
            return True  # the usual case; the rest costs 1 µs
        return authorizer.may(
            address.principal,
            address.peer_host,
            operation,
            resource_type,
            name,
            is_quiet=is_quiet,
            api_key=self._api_key,
            count=count,
        )

    @property
    def _api_key(self) -> int:
        return -1 if self.request is None else self.request.api_key

    def may_on_cluster(self, operation: AclOperation, *, is_quiet: bool = False) -> bool:
        return self.may(operation, AclResourceType.CLUSTER, CLUSTER_NAME, is_quiet=is_quiet)

    def may_by_resource_type(self, operation: AclOperation, resource_type: AclResourceType) -> bool:
        """Whether the client may do the operation with any resource of the type."""
        authorizer, address = self.authorizer, self.address
        if authorizer is None or address.is_this_broker:
            return True
        return authorizer.may_by_resource_type(
            address.principal, address.peer_host, operation, resource_type, api_key=self._api_key
        )

    def require(self, operation: AclOperation, resource_type: AclResourceType, name: str) -> None:
        """Raises the authorization error of the type, which then answers the whole request, if the client may not."""
        if not self.may(operation, resource_type, name):
            raise denial(resource_type)

    def require_on_cluster(self, operation: AclOperation) -> None:
        """As `require`; responses also say it in words, as Kafka's do for this type alone."""
        if not self.may_on_cluster(operation):
            raise ClusterAuthorizationError(ClusterAuthorizationError.description)

    def denied(
        self, operation: AclOperation, resource_type: AclResourceType, names: Iterable[str], *, is_quiet: bool = False
    ) -> Set[str]:
        """The ``names`` with which the client may not do the operation. The authorizer is asked once for each name.

        Without an authorizer ``names`` is not iterated.
        """
        if self.authorizer is None or self.address.is_this_broker:
            return _NOTHING
        counts: dict[str, int] = {}
        for name in names:
            counts[name] = counts.get(name, 0) + 1
        return {
            name
            for name, count in counts.items()
            if not self.may(operation, resource_type, name, is_quiet=is_quiet, count=count)
        }

    def operation_bits(self, resource_type: AclResourceType, name: str, more: Sequence[AclOperation] = ()) -> int:
        """The operations that the client may do with the resource, as bits (KIP-430). ``more``: beside Kafka 3.9's."""
        if self.authorizer is None:
            return ALL_OPERATIONS[resource_type] | operation_bits(*more)
        every = (*OPERATIONS_OF_TYPES[resource_type], *more)
        return operation_bits(*(each for each in every if self.may(each, resource_type, name, is_quiet=True)))

    def cluster_operation_bits(self) -> int:
        """The operations that the client may do with the cluster; none without the right to describe it."""
        may_describe = self.may_on_cluster(AclOperation.DESCRIBE)
        return self.operation_bits(AclResourceType.CLUSTER, CLUSTER_NAME) if may_describe else 0


class EncodedResponse:
    """A response that its handler encodes itself. A base class, because one isinstance of a protocol costs 1 µs."""

    __slots__ = ()

    @property
    def errors(self) -> Mapping[int, int] | None:
        """How often each error code is in the response, with NONE; None when there is NONE once."""
        return None

    def encode_body(self, throttle_time_ms: int) -> bytes:
        """The response without its header."""
        raise NotImplementedError


Handler = Callable[[RequestContext, Any], Any | Awaitable[Any]]
"""``(context, request message) -> response message`` (or `EncodedResponse`), at once or awaited; None: no response is
sent (Produce, acks=0)."""
