"""All reasons why a connection is not read."""

from enum import IntFlag

__all__ = ["ReadPause"]


class ReadPause(IntFlag):
    """A connection is read when none of these is set. Changes of an open connection are logged at debug level."""

    CONNECTION_LIMIT = 1
    """``max.connections`` or the rate of new connections is reached."""
    RESPONSES = 2
    """The client does not read its responses, or the limit of unanswered requests is reached."""
    MEMORY = 4
    """``queued.max.request.bytes`` or ``queued.max.requests`` is reached, and this connection holds some of it."""
    QUEUED = 8
    """The next request waits in the fair queue, until the next iteration, or until the previous task has begun."""
    THROTTLED = 16
    """The client sends requests in very many small pieces. (Client quotas, KIP-219, will use this.)"""
    CLOSING = 32
    """The connection takes no further request, and closes when its last response is written, or at once."""


# Plain numbers: the operators of IntFlag are slow, and these are used for every request.
(CONNECTION_LIMIT, RESPONSES, MEMORY, QUEUED, THROTTLED, CLOSING) = (pause.value for pause in ReadPause)
