"""One side of the comparison: raw requests to one broker, and a record of the responses."""

import socket
import struct
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

from interop.side_by_side.plain_form import Json, PlainForm, See
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.headers import RequestHeader
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.clients.wire_frames import answer_in, request_frame

__all__ = ["CLOSED", "Conversation", "Pending", "Step"]

CLOSED = "the connection was closed"
_KEY_OF = {spec.name: key for key, spec in API_SPECS.items()}
_CLIENT_ID = "side-by-side"
ATTEMPTS = 100_000


@dataclass(frozen=True, slots=True)
class Step:
    """One request and the plain form of its response."""

    name: str
    answer: Json


class Conversation:
    """The interface of a scenario. A scenario must do the same on both sides: it decides by responses, never by time.

    Each request uses the connection named by `on`, opened on first use. A step is named by its number, API, version and
    optional `note`. `source_host`: the address it connects from. `user`: name and password for PLAIN.
    Names of topics and groups belong to the scenario.
    """

    def __init__(
        self, address: tuple[str, int], scenario: str, *, source_host: str = "", user: tuple[str, str] | None = None
    ) -> None:
        self.scenario = scenario
        self.steps: list[Step] = []
        self._address = address
        self._source = (source_host, 0)
        self._user = user
        self._connections: dict[str, socket.socket] = {}
        self._correlation_ids = count(1)
        self._numbers = count(1)
        self._plain = PlainForm(address)

    # -- names

    def name(self, what: str = "topic") -> str:
        """Returns a name of a topic or group that no other scenario uses."""
        return f"{self.scenario}.{what}"

    def is_own(self, name: str) -> bool:
        return name.startswith(f"{self.scenario}.")

    # -- requests

    def ask(
        self,
        request: Message,
        version: int,
        *,
        on: str = "main",
        note: str = "",
        client_id: str | None = _CLIENT_ID,
        see: See | None = None,
    ) -> Any:
        """Sends a request and records the response; returns it decoded, or None if the connection was closed."""
        return self.send(request, version, on=on, note=note, client_id=client_id).answer(see)

    def send(
        self, request: Message, version: int, *, on: str = "main", note: str = "", client_id: str | None = _CLIENT_ID
    ) -> "Pending":
        """Sends without waiting; the step keeps its position in the record."""
        key = _key_of(request)
        return self.send_body(key, version, encode(request, version), on=on, note=note, client_id=client_id)

    def send_body(
        self,
        key: int,
        version: int,
        body: bytes,
        *,
        on: str = "main",
        note: str = "",
        client_id: str | None = _CLIENT_ID,
        header_version: int | None = None,
    ) -> "Pending":
        """Sends a request with an arbitrary body."""
        correlation_id = next(self._correlation_ids)
        if header_version is None:
            spec = API_SPECS[ApiKey(key)]
            header_version = spec.request_header_version(min(version, spec.max_version))
        header = RequestHeader(
            request_api_key=key, request_api_version=version, correlation_id=correlation_id, client_id=client_id
        )
        connection = self._connection(on)
        _send_frame(connection, encode(header, header_version) + body)
        index = self._begin_step(f"{_api_name(key)} v{version}", note)
        return Pending(self, on, key, version, correlation_id, index)

    def send_frame(self, frame: bytes, *, on: str = "main", note: str = "", size: int | None = None) -> bool:
        """Sends arbitrary bytes after their size (or `size`); records whether there was a response."""
        connection = self._connection(on)
        connection.sendall(struct.pack(">i", len(frame) if size is None else size) + frame)
        index = self._begin_step("frame", note)
        answer = _read_frame(connection)
        self.record(index, CLOSED if answer is None else "answered")
        if answer is None:
            self.forget(on)
        return answer is not None

    def send_unanswered(self, request: Message, version: int, *, on: str = "main", note: str = "") -> bool:
        """Sends a request without a response (acks=0); records and returns whether the connection
        still works after it."""
        pending = self.send(request, version, on=on, note=note)
        follower = next(self._correlation_ids)
        connection = self._connection(on)
        header = RequestHeader(request_api_key=18, request_api_version=0, correlation_id=follower, client_id=None)
        try:
            _send_frame(connection, encode(header, 1) + encode(ApiVersionsRequest(), 0))
            frame = _read_frame(connection)
        except OSError:
            frame = None
        served = frame is not None and struct.unpack_from(">i", frame)[0] == follower
        self.record(pending.index, "no answer, and the next request was answered" if served else CLOSED)
        if not served:
            self.forget(on)
        return served

    def until(self, request: Message, version: int, enough: Callable[[Any], bool], *, on: str = "main") -> Any:
        """Repeats a request until the response is `enough`; records only that one."""
        for _ in range(ATTEMPTS):
            pending = self.send(request, version, on=on)
            answer = pending.read()
            if answer is None or enough(answer):
                self.record(pending.index, CLOSED if answer is None else self.plain(answer, pending))
                return answer
            self.steps.pop()
            self._numbers = count(len(self.steps) + 1)
        raise AssertionError(f"asked {ATTEMPTS} times, and this was not enough: {request} -> {answer}")

    def unrecorded(self, request: Message, version: int, *, on: str = "main") -> Any:
        """Sends a request without recording it, for preparation."""
        answer = self.send(request, version, on=on).read()
        self.steps.pop()
        self._numbers = count(len(self.steps) + 1)
        return answer

    def note(self, what: str, value: Json) -> None:
        """Records a value computed from responses."""
        self.record(self._begin_step(what, ""), value)

    # -- connections

    def forget(self, on: str) -> None:
        """Closes a connection; the next request on it opens a new one."""
        self._connections.pop(on).close()

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # -- for Pending

    def read(self, on: str) -> bytes | None:
        try:
            frame = _read_frame(self._connections[on])
        except ConnectionError:
            frame = None
        if frame is None:
            self.forget(on)
        return frame

    def record(self, index: int, answer: Json) -> None:
        self.steps[index] = Step(self.steps[index].name, answer)

    def plain(self, answer: Message, pending: "Pending", see: See | None = None) -> Json:
        return self._plain.of(answer, pending.answer_version, see)

    def _begin_step(self, what: str, note: str) -> int:
        name = f"{next(self._numbers)} {what}"
        self.steps.append(Step(f"{name} ({note})" if note else name, "nothing was read"))
        return len(self.steps) - 1

    def _connection(self, on: str) -> socket.socket:
        connection = self._connections.get(on)
        if connection is None:
            connection = self._connections[on] = socket.create_connection(self._address, source_address=self._source)
            if self._user is not None:
                _log_in(connection, *self._user)
        return connection


@dataclass(frozen=True, slots=True)
class Pending:
    """A request in flight."""

    conversation: Conversation
    on: str
    key: int
    version: int
    correlation_id: int
    index: int

    def answer(self, see: See | None = None) -> Any:
        """Waits for the response and records it; returns it decoded, or None if the connection was closed."""
        message = self.read()
        self.conversation.record(self.index, CLOSED if message is None else self.conversation.plain(message, self, see))
        return message

    @property
    def answer_version(self) -> int:
        """Returns the version of the response: an ApiVersions request of an unknown version is answered in version 0
        (KIP-511).
        """
        spec = API_SPECS[ApiKey(self.key)]
        return self.version if self.version in spec.versions else 0

    def read(self) -> Message | None:
        frame = self.conversation.read(self.on)
        if frame is None:
            return None
        spec = API_SPECS[ApiKey(self.key)]
        version = self.answer_version
        (correlation_id,) = struct.unpack_from(">i", frame)
        assert correlation_id == self.correlation_id, f"{correlation_id} answers {self.correlation_id}"
        start = 4
        if spec.response_header_version(version):
            assert frame[4] == 0, "the answer's header has tagged fields"
            start = 5
        return decode(spec.response_type(), frame, version, start)


def _key_of(request: Message) -> ApiKey:
    return _KEY_OF[type(request).__name__.removesuffix("Request")]


def _api_name(key: int) -> str:
    try:
        return API_SPECS[ApiKey(key)].name
    except ValueError:
        return f"API {key}"


def _log_in(connection: socket.socket, name: str, password: str) -> None:
    token = f"\0{name}\0{password}".encode()
    for request, version in (
        (SaslHandshakeRequest(mechanism="PLAIN"), 1),
        (SaslAuthenticateRequest(auth_bytes=token), 0),
    ):
        connection.sendall(request_frame(request, version, 0, _CLIENT_ID))
        frame = _read_frame(connection)
        assert frame is not None
        assert answer_in(frame, request, version).error_code == 0


def _send_frame(connection: socket.socket, frame: bytes) -> None:
    connection.sendall(struct.pack(">i", len(frame)) + frame)


def _read_frame(connection: socket.socket) -> bytes | None:
    """Returns the next response frame; None if the connection was closed or reset."""
    try:
        head = _read(connection, 4)
        return None if head is None else _read(connection, struct.unpack(">i", head)[0])
    except ConnectionResetError:
        return None


def _read(connection: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)
