"""Why a connection is not read: every reason there is."""

from enum import IntFlag

__all__ = ["ReadPause"]


class ReadPause(IntFlag):
    """A connection is read when none of these is set. Each change is logged at debug level."""

    CONNECTION_LIMIT = 1
    """``max.connections`` or the rate of new connections is reached."""
    RESPONSES = 2
    """The client owes reading: it does not read its responses, or as many requests as allowed await theirs."""
    MEMORY = 4
    """``queued.max.request.bytes`` or ``queued.max.requests`` is reached, and this connection holds some of it."""
    QUEUED = 8
    """Its next request waits: in the fair queue, for a next iteration of the loop, or for the start of the last one."""
    THROTTLED = 16
    """A quota is exceeded (KIP-219), or the client sends its requests in very many small pieces."""
    CLOSING = 32
    """The connection takes no further request: it closes when its last response is written."""


# Plain numbers: the operators of IntFlag are slow, and these are used for every request.
(CONNECTION_LIMIT, RESPONSES, MEMORY, QUEUED, THROTTLED, CLOSING) = (pause.value for pause in ReadPause)
