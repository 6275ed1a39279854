"""What a handler knows about the request beyond its message."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ..network.request import CloseConnectionError, ConnectionInfo, Request

__all__ = ["CloseConnectionError", "EncodedAnswer", "Handler", "RequestContext", "Shortcut", "Shortened"]


@dataclass(slots=True)  # not frozen: that costs a microsecond a request
class RequestContext:
    """One request's surroundings.

    ``frame_bytes`` is how long its frame is, ``now_ms`` the wall clock when that was complete; ``address`` tells both
    ends of the connection and its listener.
    """

    api_version: int
    frame_bytes: int
    client_id: str | None
    address: ConnectionInfo
    now_ms: int
    abandon: Callable[[], None] | None = None
    """Set by a handler whose answer may take long: to be called when the connection is gone."""


class EncodedAnswer(NamedTuple):
    """A response that its handler has encoded itself, without the header."""

    parts: list[bytes]


Handler = Callable[[RequestContext, Any], Any | Awaitable[Any]]
"""``(context, request message) -> response message`` (or `EncodedAnswer`), at once or awaited; None: no answer is sent
(Produce, acks=0)."""


class Shortcut(Protocol):
    """How one version of an API is served without the codec, for requests like those that were served before."""

    def answer(self, request: Request) -> Any:
        """As a handler's, or the answer's bytes with its header; None: it is to be decoded, and nothing was done."""

    def learn(self, message: Any, answer: Any) -> None:
        """What was decoded, and how it was answered at once: the next one may be like it."""


@runtime_checkable
class Shortened(Protocol):
    """A handler that has a shortcut."""

    def shortcut(self, version: int) -> Shortcut | None: ...
