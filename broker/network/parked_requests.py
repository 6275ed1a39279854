"""Requests that were started and whose answers are not written yet: they leave in the order the requests came."""

from collections import deque
from collections.abc import Callable

from .request import ReplyPart, memory_of
from .response_writer import ResponseWriter

__all__ = ["ParkedRequest", "ParkedRequests"]


class ParkedRequest:
    """The place in the order of a request whose answer is not known, or not written, yet."""

    __slots__ = ("abandon", "is_ready", "parts")

    def __init__(self, abandon: Callable[[], None] | None = None) -> None:
        self.abandon = abandon
        self.is_ready = False
        self.parts: list[ReplyPart] | None = None


class ParkedRequests(deque[ParkedRequest]):
    """Of one connection. A deque, since it is asked for every request whether it is empty."""

    __slots__ = ()

    @property
    def are_under_way(self) -> bool:
        """The answer of one is not known."""
        return any(not parked.is_ready for parked in self)

    @property
    def may_take_long(self) -> bool:
        """One waits for others: for records, or the members of a group. It can be abandoned."""
        return any(parked.abandon is not None and not parked.is_ready for parked in self)

    @property
    def unsent_bytes(self) -> int:
        """Of answers that wait for their turn. Regions of files count as what they are in memory."""
        return sum(memory_of(parked.parts) for parked in self if parked.parts)

    def add_answer(self, parts: list[ReplyPart]) -> None:
        """One whose answer is known already, but it is not its turn."""
        parked = ParkedRequest()
        parked.parts = parts
        parked.is_ready = True
        self.append(parked)

    def drop_behind(self, parked: ParkedRequest) -> None:
        """What was asked after a request that ends the connection gets no answer."""
        while self and self[-1] is not parked:
            _abandon(self.pop())

    def abandon_all(self) -> None:
        """Nobody is there to be answered."""
        while self:
            _abandon(self.pop())

    def send_ready(self, writer: ResponseWriter) -> None:
        """Give the writer the answers whose turn it is."""
        while self and self[0].is_ready and not writer.blocked:
            parts = self.popleft().parts
            if parts is not None:
                writer.send(parts)
        writer.flush()


def _abandon(parked: ParkedRequest) -> None:
    if parked.abandon is not None and not parked.is_ready:
        parked.abandon()
