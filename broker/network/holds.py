"""Why a connection is not read."""

from enum import IntFlag

__all__ = ["Hold"]


class Hold(IntFlag):
    """Why a connection is not read."""

    ADMISSION = 1
    """There are ``max.connections`` others."""
    PARKED = 2
    """Enough requests await their answers."""
    WRITING = 4
    """The peer does not read its answers as fast as they come."""
    MEMORY = 8
    """``queued.max.request.bytes`` or ``queued.max.requests`` is reached."""
    STARTING = 16
    """A request's coroutine has not begun yet."""
    THROTTLED = 32
    """A quota is exceeded (KIP-219: the answer leaves, then the connection is muted)."""
    HEAVY = 128
    """Its next request is large, or follows one in vain, and others like it have just taken much time."""
    TRICKLE = 256
    """A frame comes in many small pieces: they gather for a moment."""
    TURN = 512
    """Much of it was read, or many of its requests started, in this turn of the loop: the others are next."""
    DECODED = 1024
    """``pybroker.decoded.requests.max.bytes`` is reached."""
    CLOSING = 64
    """Nothing more is wanted of this peer."""


# Plain numbers: the operators of IntFlag are slow, and these are asked for every request.
(ADMISSION, PARKED, WRITING, MEMORY, STARTING, THROTTLED, HEAVY, TRICKLE, TURN, DECODED, CLOSING) = (
    hold.value for hold in Hold
)
UNREAD_FOR_LONG = PARKED | MEMORY | HEAVY | DECODED | CLOSING
"""So long that the peer may be gone meanwhile, which is looked after."""
FRAMES_WAIT = PARKED | WRITING | THROTTLED | HEAVY | DECODED
"""Frames that were read before it may wait for long; for the others they wait for a turn of the loop or two."""
