"""Requests that are started and whose responses are not written yet; responses leave in the order of requests."""

from collections import deque
from collections.abc import Callable

from .request import ReplyPart, memory_of
from .response_writer import ResponseWriter

__all__ = ["ParkedRequest", "ParkedRequests"]


class ParkedRequest:
    """A started request whose response is not known, or not written, yet."""

    __slots__ = ("abandon", "is_ready", "parts")

    def __init__(self, abandon: Callable[[], None] | None = None) -> None:
        self.abandon = abandon
        self.is_ready = False
        self.parts: list[ReplyPart] | None = None


class ParkedRequests(deque[ParkedRequest]):
    """The parked requests of one connection. A deque, because every request checks whether it is empty."""

    __slots__ = ()

    @property
    def are_under_way(self) -> bool:
        """The response of at least one request is not known."""
        return any(not parked.is_ready for parked in self)

    @property
    def may_take_long(self) -> bool:
        """At least one request waits for other clients (records, group members) and can be abandoned."""
        return any(parked.abandon is not None and not parked.is_ready for parked in self)

    @property
    def unsent_bytes(self) -> int:
        """Memory of responses that wait for earlier ones. Regions of files count as their objects."""
        return sum(memory_of(parked.parts) for parked in self if parked.parts)

    def add_answer(self, parts: list[ReplyPart]) -> None:
        """Add a request whose response is known, but must wait for earlier ones."""
        parked = ParkedRequest()
        parked.parts = parts
        parked.is_ready = True
        self.append(parked)

    def drop_behind(self, parked: ParkedRequest) -> None:
        """Drop the requests after one that ends the connection: they get no response."""
        while self and self[-1] is not parked:
            _abandon(self.pop())

    def abandon_all(self) -> None:
        """The client is gone."""
        while self:
            _abandon(self.pop())

    def send_ready(self, writer: ResponseWriter) -> None:
        """Give the writer the responses that are next in order."""
        while self and self[0].is_ready and not writer.blocked:
            parts = self.popleft().parts
            if parts is not None:
                writer.send(parts)
        writer.flush()


def _abandon(parked: ParkedRequest) -> None:
    if parked.abandon is not None and not parked.is_ready:
        parked.abandon()
