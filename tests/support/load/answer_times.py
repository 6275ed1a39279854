"""How long brokers take to answer requests, and the request behind each on its connection.

**How.** Each request goes out on a connection of its own with an ApiVersions request behind it. Meanwhile another
client asks the same broker for ApiVersions again and again. Its rounds count how long a request waits, because on a
busy machine both take longer. A request that is not answered at once is left waiting while the next ones are sent.
"""

import selectors
import socket
import struct
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from pybroker.protocol.codec import Struct
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from support.clients.wire_client import WireClient
from support.clients.wire_frames import answer_in, request_frame
from support.load.request_of_each_api import Asked

__all__ = ["AT_ONCE", "BETWEEN_ROUNDS_S", "GIVES_UP_AFTER", "AnswerTime", "answer_times"]

AT_ONCE = 100
"""A request that is answered in so many rounds of the other client is answered at once: about a second."""
GIVES_UP_AFTER = 600
"""A request that is not answered in so many rounds counts as not answered: more than its own timeout."""
BETWEEN_ROUNDS_S = 0.01
"""A round takes at least so long."""
_READ_BYTES = 1 << 16


@dataclass
class AnswerTime:
    """Seconds and rounds until a request was answered, or its connection was closed; None: neither happened.

    If the connection was closed, the times of the request behind it are the same.
    """

    name: str
    seconds: float | None = None
    rounds: int | None = None
    seconds_behind: float | None = None
    """Until the response to the request behind it."""
    rounds_behind: int | None = None
    codes: list[int] = field(default_factory=list)
    """The distinct error codes of the response, in their order."""


class _Pair:
    """A request and the one behind it, on one connection."""

    def __init__(self, asked: Asked, address: tuple[str, int], rounds: "_Rounds") -> None:
        self.time = AnswerTime(asked.name)
        self.is_done = False
        self._asked = asked
        self._rounds = rounds
        self._began_in_round = rounds.count
        self._buffer = bytearray()
        self.socket = socket.create_connection(address)
        frames = request_frame(asked.request, asked.version, 1, "answer-times")
        frames += request_frame(ApiVersionsRequest(), 0, 2, "answer-times")
        self._began = time.monotonic()
        self.socket.sendall(frames)

    def read(self) -> None:
        """Take a piece of the responses; done when both have come, or the broker closed the connection."""
        data = self.socket.recv(_READ_BYTES)
        self._buffer += data
        while len(self._buffer) >= 4 and len(self._buffer) >= 4 + (size := _size(self._buffer)):
            frame = bytes(self._buffer[4 : 4 + size])
            del self._buffer[: 4 + size]
            self._take(frame)
        if not data:
            if self.time.seconds is None:
                self._note_answer()
            self._note_answer_behind()
        self.is_done = self.time.seconds_behind is not None

    def _take(self, frame: bytes) -> None:
        if self.time.seconds is not None:
            self._note_answer_behind()
            return
        self._note_answer()
        answer = answer_in(frame, self._asked.request, self._asked.version)
        self.time.codes = list(dict.fromkeys(_codes(answer)))

    def _note_answer(self) -> None:
        self.time.seconds, self.time.rounds = self._waited()

    def _note_answer_behind(self) -> None:
        if self.time.seconds_behind is None:
            self.time.seconds_behind, self.time.rounds_behind = self._waited()

    def _waited(self) -> tuple[float, int]:
        return time.monotonic() - self._began, self._rounds.count - self._began_in_round


class _Rounds:
    """Counts the requests of the other client: one to each broker in a round."""

    def __init__(self, addresses: Mapping[int, tuple[str, int]], stack: ExitStack) -> None:
        self.count = 0
        self._clients = [stack.enter_context(WireClient(f"{host}:{port}")) for host, port in addresses.values()]

    def next(self) -> None:
        for client in self._clients:
            client.ask(ApiVersionsRequest(), 0)
        self.count += 1


def answer_times(
    asked: Sequence[Asked], addresses: Mapping[int, tuple[str, int]], unwatched: Collection[str] = ()
) -> list[AnswerTime]:
    """Send the requests in turn, each to its broker; ``addresses`` by broker id. The ``unwatched`` ones, by name, are
    sent too, but not waited for."""
    pairs: list[_Pair] = []
    with ExitStack() as stack, selectors.DefaultSelector() as selector:
        used = {each.broker_id for each in asked}
        rounds = _Rounds({broker_id: addresses[broker_id] for broker_id in used}, stack)
        for each in asked:
            pair = _Pair(each, addresses[each.broker_id], rounds)
            pairs.append(pair)
            stack.callback(pair.socket.close)
            selector.register(pair.socket, selectors.EVENT_READ, pair)
            if each.name not in unwatched:
                _read_until(selector, lambda pair=pair: pair.is_done, rounds, AT_ONCE)  # type: ignore[misc]
        watched = [pair for pair in pairs if pair.time.name not in unwatched]
        _read_until(selector, lambda: all(pair.is_done for pair in watched), rounds, GIVES_UP_AFTER)
    return [pair.time for pair in pairs]


def _read_until(
    selector: selectors.BaseSelector, is_done: Callable[[], bool], rounds: _Rounds, most_rounds: int
) -> None:
    until = rounds.count + most_rounds
    while not is_done() and rounds.count < until:
        ready = selector.select(BETWEEN_ROUNDS_S)
        for key, _ in ready:
            pair: _Pair = key.data
            pair.read()
            if pair.is_done:
                selector.unregister(pair.socket)
        if not ready:
            rounds.next()


def _size(buffer: bytearray) -> int:
    (size,) = struct.unpack_from(">i", buffer)
    assert isinstance(size, int)
    return size


def _codes(struct_: Struct) -> Iterator[int]:
    for name in (each.name for each in struct_.SCHEMA.fields):
        value: Any = getattr(struct_, name)
        if name.endswith("error_code"):
            yield value
        for element in value if isinstance(value, list) else [value]:
            if isinstance(element, Struct):
                yield from _codes(element)
