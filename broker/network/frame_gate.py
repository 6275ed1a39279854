"""The gate of a connection whose client must log in: it sees each frame before its header is read.

`RequestPipeline` asks the gate, and no request reaches a handler that the gate did not let pass: neither requests that
a codec of their own decodes, nor ones that are answered from memory. Connections without login have no gate.
"""

from typing import NamedTuple, Protocol

from .request import LaterReply, ReplyPart

__all__ = ["FrameGate", "GateReply"]


class GateReply(NamedTuple):
    """The gate's own response to a frame, sent in order behind the responses of requests under way.

    ``reply``: the response without its size; a raw token has no header. None: there is no response.
    ``closes``: the connection takes no further frame, and closes when the response is written.

    A `LaterReply` stops the reading of the connection until its future is done.
    """

    reply: list[ReplyPart] | LaterReply | None
    closes: bool = False


class FrameGate(Protocol):
    """One for each connection that needs it, for its whole life."""

    @property
    def max_frame_bytes(self) -> int | None:
        """The longest frame that the client may send now; None: ``socket.request.max.bytes``.

        While there is a limit, frames are taken one at a time, so that the end of the login changes it for the next.
        """

    def expects(self, frame: bytearray) -> bool:
        """Whether the frame is a request of a login that the client may send now."""

    def take(self, frame: bytearray, received_ms: int) -> GateReply | None:
        """None: the frame is a request that may start. Raises CloseConnectionError."""
