"""Requests as handlers get them, and the replies that handlers return."""

from asyncio import Future
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Protocol, Self, TypeAlias

from ..security.principal import ANONYMOUS, THIS_BROKER
from .listener_counters import ListenerCounters
from .offender_log import Violation

__all__ = ["CloseConnectionError", "ConnectionInfo", "Handler", "LaterReply", "Region", "Reply", "ReplyPart", "Request",
           "memory_of", "no_connection"]  # fmt: skip

_PART_OVERHEAD_BYTES = 150


class Region(Protocol):
    """A piece of a file that is sent unchanged; ``storage.files.FileRegion`` is one.

    The object keeps the file's descriptor open as long as it lives.
    """

    @property
    def position(self) -> int:
        """First byte in the file."""

    @property
    def size_bytes(self) -> int: ...

    def fileno(self) -> int: ...


ReplyPart: TypeAlias = "bytes | bytearray | memoryview | Region"
"""Bytes are not copied before they are sent, so the handler must not change them afterwards."""


class CloseConnectionError(Exception):
    """Raised by a handler, at once or through its awaitable: close this connection without a response to this request.

    The message says why, in words for the log.
    """

    def __init__(self, message: str, violation: Violation = Violation.REFUSED_REQUEST) -> None:
        super().__init__(message)
        self.violation = violation


class ConnectionInfo:
    """The client of a connection, and the listener it came by. One for each connection, for its whole life."""

    __slots__ = ("__weakref__", "counters", "is_this_broker", "last_heartbeat", "listener_name", "local_host",
                 "local_port", "peer_host", "peer_port", "principal", "security_protocol", "software", "throttle",
                 "throttled_ms", "when_closed")  # fmt: skip

    def __init__(
        self,
        listener_name: str,
        security_protocol: str,
        local: tuple[str, int],
        peer: tuple[str, int],
        counters: ListenerCounters | None = None,
    ) -> None:
        self.listener_name = listener_name
        self.security_protocol = security_protocol
        self.local_host, self.local_port = local
        self.peer_host, self.peer_port = peer
        self.principal = ANONYMOUS
        """The client; authentication sets it."""
        self.counters = counters or ListenerCounters()
        """The counters of the listener."""
        self.software = ""
        """The name and version of the client's library, if it told them (KIP-511)."""
        self.throttled_ms = 0
        """The sum of the times for which quotas delayed the client."""
        self.is_this_broker = False
        """No connection: this broker calls its own handlers, which needs no right."""
        self.throttle: Callable[[float], None] = no_connection
        """Read no further request for so many seconds (KIP-219); requests under way are still answered."""
        self.last_heartbeat: object | None = None
        """The client's last heartbeat and its response, if the next one is likely to repeat it."""
        self.when_closed: Callable[[], None] | None = None
        """Called when the connection is lost, after its requests were abandoned."""

    @classmethod
    def of_this_broker(cls, listener_name: str) -> Self:
        """In place of a connection when this broker calls its own handlers."""
        info = cls(listener_name, "PLAINTEXT", ("", 0), ("", 0))
        info.principal = THIS_BROKER
        info.is_this_broker = True
        return info

    @property
    def is_open(self) -> bool:
        """Whether the connection was made, and is not lost."""
        return self.throttle is not no_connection

    def __str__(self) -> str:
        return f"{_address(self.peer_host, self.peer_port)} on listener {self.listener_name}"


def no_connection(duration_s: float) -> None:
    """In place of ``throttle`` before there is a connection, and when it is gone."""


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Request:
    """One frame with its header decoded.

    ``frame`` is the whole frame without its size. It belongs to this request alone, so views of it stay valid and may
    be written through. ``header_size`` is where the body starts in it.
    ``received_ms`` is the wall clock when the frame was complete.
    """

    __slots__ = ("abandon", "answered_s", "api_key", "api_version", "asked_wait_ms", "client_id", "connection",
                 "correlation_id", "frame",
                 "frame_bytes", "handled_s", "header_size", "is_from_follower", "is_of_broker", "received_ms",
                 "received_s", "records_were_refused", "response_bytes", "sending_s", "started_s",
                 "throttle_time_ms", "waited_for")  # fmt: skip

    # Set only if requests are timed, see `RequestTimer`.
    received_s: float
    started_s: float
    handled_s: float
    answered_s: float
    sending_s: float
    frame_bytes: int
    response_bytes: int

    def __init__(
        self,
        api_key: int,
        api_version: int,
        correlation_id: int,
        client_id: str | None,
        header_size: int,
        frame: bytearray,
        connection: ConnectionInfo,
        received_ms: int,
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.header_size = header_size
        self.frame = frame
        self.connection = connection
        self.received_ms = received_ms
        self.abandon: Callable[[], None] | None = None
        """Set by a handler whose response may take long: called when the connection is gone before that."""
        self.records_were_refused = False
        """Set by a produce handler that refuses records as invalid."""
        self.is_from_follower = False
        """Set for a fetch of another broker's follower."""
        self.is_of_broker = False
        """Set when the client proved to be a broker, for an API that only brokers may use."""
        self.throttle_time_ms = 0
        """For how long the client is throttled (KIP-219)."""
        self.asked_wait_ms = 0
        """For how long the client said that it would wait, for records or for other members."""
        self.waited_for: Callable[[], str] | None = None
        """Tells in words for what the response waited; set by a handler whose response may come later."""

    def take_times(self, received_s: float, started_s: float, handled_s: float, frame_bytes: int) -> None:
        """The handler has returned."""
        self.received_s = received_s
        self.started_s = started_s
        self.handled_s = handled_s
        self.frame_bytes = frame_bytes

    @property
    def body(self) -> memoryview:
        """The frame after its header, writable, not copied."""
        return memoryview(self.frame)[self.header_size :]

    def throttle(self, duration_ms: int) -> None:
        """Have the response tell the client to wait, and the connection not read meanwhile. The longest time counts."""
        if duration_ms > self.throttle_time_ms:
            self.throttle_time_ms = duration_ms


class LaterReply:
    """A reply that ``settle`` makes from the result of ``future`` when it is done.

    A waiting request therefore needs one future and no task. ``settle`` is called once. It may raise what a handler
    may, and CancelledError if the future was cancelled.
    """

    __slots__ = ("future", "settle")

    def __init__(self, future: "Future[Any]", settle: "Callable[[], list[ReplyPart] | None]") -> None:
        self.future = future
        self.settle = settle


Reply: TypeAlias = "list[ReplyPart] | LaterReply | Awaitable[list[ReplyPart] | None] | None"
"""Header and body of the response without its size; None sends nothing (Produce with acks=0)."""

Handler: TypeAlias = Callable[[Request], Reply]
"""Called on the loop, requests of a connection in the order they came; responses leave in that order too.

A list at once is the fast path, a `LaterReply` the next one. A coroutine is started as a task before the next request
of its connection starts. Work that must happen in order has to happen before its first real suspension.
"""


def memory_of(parts: Collection[ReplyPart]) -> int:
    """Memory of ``parts``: their bytes, as far as they are in memory, and their objects."""
    in_memory = sum(len(part) for part in parts if isinstance(part, bytes | bytearray | memoryview))
    return in_memory + len(parts) * _PART_OVERHEAD_BYTES
