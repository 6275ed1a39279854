"""The effects of faults on the requests that they fire on."""

from enum import Enum

from ...base.frozen import frozen
from ...protocol.errors import ErrorCode

__all__ = ["Break", "Corrupt", "Delay", "Effect", "Fail", "Hang", "RefuseConnections", "Throttle", "Way"]


@frozen
class Fail:
    """The request, or those of its items that match, get an error code and are not carried out."""

    code: ErrorCode

    def __str__(self) -> str:
        return f"error {self.code.name}"


@frozen
class Delay:
    """The request starts later, and with it all requests behind it on the connection."""

    ms: int
    jitter_ms: int = 0

    def __str__(self) -> str:
        return f"delay of {self.ms} ms" + (f" and at random up to {self.jitter_ms} ms" if self.jitter_ms else "")


@frozen
class Hang:
    """The request starts when the fault is removed, and with it all requests behind it on the connection."""

    def __str__(self) -> str:
        return "hang"


class Way(Enum):
    """When and how the connection ends."""

    BEFORE = "drop_request"
    """The request is not carried out, and the connection is closed."""
    RESET = "reset"
    """The request is not carried out, and the connection is reset."""
    AFTER = "drop_response"
    """The request is carried out, and the connection is closed without a response."""
    WITHIN = "cut_after"
    """The request is carried out, and the connection is closed in the middle of the response."""


@frozen
class Break:
    """The connection ends in place of the response, or in it after ``after_bytes``."""

    way: Way
    after_bytes: int = 0

    def __str__(self) -> str:
        return f"{self.way.value} {self.after_bytes} bytes" if self.way is Way.WITHIN else self.way.value


@frozen
class Corrupt:
    """One bit of the first batch of a partition is turned in the response, so that its checksum is wrong."""

    def __str__(self) -> str:
        return "corrupt"


@frozen
class Throttle:
    """The request is carried out, and its client is throttled, as by a quota."""

    ms: int

    def __str__(self) -> str:
        return f"throttle of {self.ms} ms"


@frozen
class RefuseConnections:
    """New connections are closed at once."""

    def __str__(self) -> str:
        return "refuse_connections"


Effect = Fail | Delay | Hang | Break | Corrupt | Throttle | RefuseConnections
