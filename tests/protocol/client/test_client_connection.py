"""The client connection without I/O encodes requests, decodes responses, and fails in one typed way on bad bytes."""

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.client import (
    ClientConnection,
    ClientError,
    ConnectionClosedError,
    ConnectionFailed,
    Credentials,
    Event,
    ResponseDecodeError,
    ResponseReceived,
    ResponseSizeError,
    SaslError,
    SaslLogin,
    ServedVersions,
    TlsAlertError,
    UnexpectedResponseError,
    UnsupportedApiError,
    VersionsRefusedError,
    open_connection,
)
from pybroker.protocol.client.connection import MAX_OPENING_RESPONSE_BYTES
from pybroker.protocol.client.frame_buffer import FIRST_ALLOCATION, SCRATCH_BYTES
from pybroker.protocol.codec import Message, decode, decode_prefix, encode
from pybroker.protocol.codec.schema import VersionRange
from pybroker.protocol.errors import SaslAuthenticationError, UnsupportedSaslMechanismError
from pybroker.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from pybroker.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from pybroker.protocol.messages.headers import RequestHeader, ResponseHeader
from pybroker.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataResponse
from pybroker.protocol.messages.produce import ProduceRequest
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from support.golden import find_message_type, golden_files, read_lines

VERSION = 12
MAX_BYTES = 1 << 24
GOLDEN = Path(__file__).parents[2] / "reference" / "golden"


def frame_of(response: Message, correlation_id: int, version: int = VERSION) -> bytes:
    """Bytes as a broker sends them."""
    key = type(response).MESSAGE.api_key
    assert key is not None
    header_version = API_SPECS[ApiKey(key)].response_header_version(version)
    frame = encode(ResponseHeader(correlation_id=correlation_id), header_version) + encode(response, version)
    return struct.pack(">i", len(frame)) + frame


def asked(count: int, max_bytes: int = MAX_BYTES) -> ClientConnection:
    """A connection with ``count`` Metadata requests under way, whose tokens are 1, 2, …."""
    connection = ClientConnection("test", max_bytes)
    for token in range(1, count + 1):
        connection.send(MetadataRequest(topics=[]), VERSION, token)
    return connection


def told(events: list[Event]) -> list[Any]:
    """Events in a form that can be compared."""
    return [
        (event.token, event.response.cluster_id)
        if isinstance(event, ResponseReceived)
        else (type(event.error), str(event.error))
        for event in events
    ]


def received(connection: ClientConnection, *pieces: bytes) -> list[Any]:
    return [each for piece in pieces for each in told(connection.receive(piece))]


# -- requests


def test_request_is_framed_with_its_size_and_header() -> None:
    connection = ClientConnection("who", MAX_BYTES)
    for correlation_id in (1, 2):
        sent = connection.send(MetadataRequest(topics=[]), VERSION)
        header = RequestHeader(
            request_api_key=3, request_api_version=VERSION, correlation_id=correlation_id, client_id="who"
        )
        frame = encode(header, 2) + encode(MetadataRequest(topics=[]), VERSION)
        assert sent == struct.pack(">i", len(frame)) + frame
    assert len(connection._awaiting) == 2


def test_request_that_cannot_be_encoded_changes_nothing() -> None:
    connection = asked(1)
    with pytest.raises(ValueError, match="HeartbeatRequest v0"):
        connection.send(HeartbeatRequest(generation_id=1 << 40), 0)
    assert len(connection._awaiting) == 1
    assert connection.send(MetadataRequest(topics=[]), VERSION)[8:12] == struct.pack(">i", 2)


def test_produce_request_without_acks_awaits_no_response() -> None:
    connection = ClientConnection("test", MAX_BYTES)
    connection.send(ProduceRequest(acks=0), 9)
    assert len(connection._awaiting) == 0
    connection.send(ProduceRequest(acks=1), 9)
    assert len(connection._awaiting) == 1


def test_message_that_is_no_request_is_refused() -> None:
    with pytest.raises(TypeError):
        ClientConnection("test", MAX_BYTES).send(ResponseHeader(), 0)


# -- responses, however the bytes are cut


@given(
    names=st.lists(st.text(max_size=40) | st.just("n" * 20_000), max_size=4),
    tail=st.binary(max_size=60),
    cuts=st.lists(st.integers(0, 90_000), max_size=6),
)
def test_responses_and_the_failure_behind_them_do_not_depend_on_how_bytes_are_cut(
    names: list[str], tail: bytes, cuts: list[int]
) -> None:
    data = b"".join(frame_of(MetadataResponse(cluster_id=name), n) for n, name in enumerate(names, 1)) + tail
    count = len(names) + 1  # one more request than responses: the tail may be the start of a response
    whole = received(asked(count, 100_000), data)
    assert whole[: len(names)] == list(enumerate(names, 1))
    assert len(whole) <= len(names) + 1
    ends = sorted({min(cut, len(data)) for cut in cuts} | {len(data)})
    pieces = [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]
    assert received(asked(count, 100_000), *pieces) == whole
    if len(data) < 1000:
        assert received(asked(count, 100_000), *(bytes([byte]) for byte in data)) == whole


@given(st.binary(min_size=1, max_size=200), st.booleans())
def test_arbitrary_bytes_have_one_typed_outcome(data: bytes, ends: bool) -> None:
    connection = asked(1, 1000)
    events = connection.receive(data)
    if ends or not events:
        events += connection.receive_eof()
    failures = [event for event in events if isinstance(event, ConnectionFailed)]
    assert len(failures) <= 1
    if failures:
        assert events[-1] is failures[0]
        assert isinstance(failures[0].error, ClientError)
        assert connection.receive(data) == []
        with pytest.raises(ConnectionClosedError):
            connection.send(MetadataRequest(), VERSION)


@given(st.integers(1, 60), st.binary(max_size=12))
def test_damaged_response_has_one_typed_outcome(position: int, damage: bytes) -> None:
    good = frame_of(MetadataResponse(cluster_id="c" * 30), 1)
    data = good[:position] + damage + good[position + len(damage) :]
    events = asked(1, 1000).receive(data[: len(good)])
    assert len([event for event in events if isinstance(event, ResponseReceived)]) <= 1
    failures = [event.error for event in events if isinstance(event, ConnectionFailed)]
    assert len(failures) <= 1
    for error in failures:
        assert isinstance(error, ResponseSizeError | ResponseDecodeError | UnexpectedResponseError)


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (struct.pack(">i", -1), ResponseSizeError),
        (struct.pack(">i", 0), ResponseSizeError),
        (struct.pack(">i", 3), ResponseSizeError),
        (struct.pack(">i", 1001), ResponseSizeError),
        (b"HTTP/1.1 400 Bad Request", ResponseSizeError),
        (b"\x15\x03\x03\x00\x02\x02\x46", TlsAlertError),
        (struct.pack(">iib", 5, 2, 0), ResponseDecodeError),
        (struct.pack(">iib", 5, 1, 0), ResponseDecodeError),
        (frame_of(MetadataResponse(), 1)[:-1] + b"\1", ResponseDecodeError),
    ],
)
def test_bytes_that_are_no_response_are_a_failure_of_their_class(data: bytes, error: type[ClientError]) -> None:
    connection = asked(1, 1000)
    (event,) = connection.receive(data)
    assert isinstance(event, ConnectionFailed)
    assert type(event.error) is error
    assert connection.abandon() == [1]


def test_response_to_no_request_is_a_failure_before_its_body_arrives() -> None:
    connection = asked(1)
    first = frame_of(MetadataResponse(cluster_id="a"), 1)
    events = connection.receive(first + struct.pack(">i", 1000))
    assert told(events) == [(1, "a"), (UnexpectedResponseError, "sent a response to no request")]


def test_tls_alert_is_recognised_only_in_front_of_the_first_response() -> None:
    connection = asked(2, 1000)
    events = connection.receive(frame_of(MetadataResponse(), 1) + b"\x15\x03\x03\x00")
    assert isinstance(events[1], ConnectionFailed)
    assert type(events[1].error) is ResponseSizeError


@pytest.mark.parametrize("data", [b"", b"\0\0", frame_of(MetadataResponse(), 1)[:-1]])
def test_end_of_the_connection_is_a_failure(data: bytes) -> None:
    connection = asked(2)
    assert connection.receive(data) == []
    assert told(connection.receive_eof()) == [(ConnectionClosedError, "closed the connection")]
    assert connection.receive_eof() == []
    assert connection.abandon() == [1, 2]


def test_abandoned_connection_returns_its_tokens_and_ignores_bytes() -> None:
    connection = asked(2)
    connection.receive(frame_of(MetadataResponse(), 1))
    assert connection.abandon() == [2]
    assert connection.receive(frame_of(MetadataResponse(), 2)) == []
    with pytest.raises(ConnectionClosedError):
        connection.send(MetadataRequest(), VERSION)


# -- memory


def allocated_bytes(connection: ClientConnection) -> int:
    """The size of the response that is arriving."""
    frame = connection._frames._frame
    return 0 if frame is None else len(frame)


def test_claimed_size_allocates_no_memory_before_bytes_arrive() -> None:
    connection = asked(1, (1 << 31) - 1)
    connection.receive(struct.pack(">i", 1 << 30))
    assert allocated_bytes(connection) == FIRST_ALLOCATION
    connection.receive(bytes(300_000))
    assert allocated_bytes(connection) <= 600_000


def test_opening_responses_have_a_limit_of_their_own() -> None:
    connection = ClientConnection("test", (1 << 31) - 1)
    connection.send(ApiVersionsRequest())
    (event,) = connection.receive(struct.pack(">i", MAX_OPENING_RESPONSE_BYTES + 1))
    assert isinstance(event, ConnectionFailed)


@pytest.mark.parametrize("size", [10, SCRATCH_BYTES, FIRST_ALLOCATION + 1, 3_000_000])
def test_records_of_a_large_response_are_views_of_the_memory_it_was_read_into(size: int) -> None:
    records = bytes(range(256)) * (size // 256) + b"x" * (size % 256)
    partition = PartitionData(partition_index=0, high_watermark=0, records=records)
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[partition])])
    connection = ClientConnection("test", MAX_BYTES)
    for correlation_id in (1, 2):
        connection.send(FetchRequest(), VERSION)
        data = frame_of(response, correlation_id)
        events: list[Event] = []
        position = 0
        while position < len(data):
            with connection.get_buffer() as buffer:
                count = min(len(buffer), len(data) - position, 70_001)
                buffer[:count] = data[position : position + count]
            position += count
            events += connection.buffer_updated(count)
        (event,) = events
        assert isinstance(event, ResponseReceived)
        found = event.response.responses[0].partitions[0].records
        assert isinstance(found, memoryview)
        assert found == records


# -- golden frames


FRAME_FILES = [path for path in golden_files(GOLDEN) if path.name.startswith("api-")]


@pytest.mark.parametrize("path", FRAME_FILES, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_golden_frames_pass_through_a_connection_unchanged(path: Path) -> None:
    requests: dict[int, bytes] = {}
    for line in read_lines(path):
        found = find_message_type(line["api"], line["kind"])
        assert found is not None
        message_type, version, data = found[0], line["version"], bytes.fromhex(line["hex"])
        if line["kind"] == "request":
            requests.setdefault(version, data)
            connection = ClientConnection("golden", MAX_BYTES)
            message = decode(message_type, bytearray(data), version)
            sent = connection.send(message, version)
            spec = API_SPECS[ApiKey(message_type.MESSAGE.api_key or 0)]
            header, end = decode_prefix(RequestHeader, sent[4:], spec.request_header_version(version))
            assert (header.request_api_key, header.request_api_version) == (spec.key, version)
            assert sent[4 + end :] == data
            assert struct.unpack_from(">i", sent) == (len(sent) - 4,)
    for line in read_lines(path):
        if line["kind"] == "response" and line["version"] in requests:
            found = find_message_type(line["api"], "response")
            assert found is not None
            version, data = line["version"], bytes.fromhex(line["hex"])
            spec = API_SPECS[ApiKey(found[0].MESSAGE.api_key or 0)]
            connection = ClientConnection("golden", MAX_BYTES)
            request = decode(spec.request_type(), bytearray(requests[version]), version)
            if isinstance(request, ProduceRequest):
                request.acks = 1
            connection.send(request, version)
            frame = encode(ResponseHeader(correlation_id=1), spec.response_header_version(version)) + data
            (event,) = connection.receive(struct.pack(">i", len(frame)) + frame)
            assert isinstance(event, ResponseReceived), event
            assert encode(event.response, version) == data


# -- versions

KAFKA_2_1 = {ApiKey.PRODUCE: (0, 7), ApiKey.FETCH: (0, 10), ApiKey.METADATA: (0, 7), ApiKey.SASL_AUTHENTICATE: (0, 0)}
KAFKA_4_0 = {ApiKey.PRODUCE: (0, 12), ApiKey.FETCH: (4, 17), ApiKey.METADATA: (0, 13), ApiKey.LIST_OFFSETS: (1, 11)}


@pytest.mark.parametrize(
    ("served", "key", "version"),
    [
        (KAFKA_2_1, ApiKey.PRODUCE, 7),
        (KAFKA_2_1, ApiKey.FETCH, 10),
        (KAFKA_4_0, ApiKey.FETCH, 17),
        (KAFKA_4_0, ApiKey.METADATA, 13),
        (KAFKA_4_0, ApiKey.LIST_OFFSETS, 11),
    ],
)
def test_newest_common_version_is_chosen(served: dict[ApiKey, tuple[int, int]], key: ApiKey, version: int) -> None:
    ranges = ServedVersions({each: VersionRange(*versions) for each, versions in served.items()})
    assert ranges.newest_common(API_SPECS[key]) == version


@given(st.integers(-5, 20), st.integers(-5, 20), st.integers(0, 20), st.integers(0, 20))
def test_negotiated_version_is_in_all_ranges_or_refused(first: int, last: int, least: int, most: int) -> None:
    spec, served, usable = API_SPECS[ApiKey.FETCH], VersionRange(first, last), VersionRange(least, most)
    common = [version for version in spec.versions if version in served and version in usable]
    ranges = ServedVersions({spec.key: served})
    if common:
        assert ranges.newest_common(spec, usable) == common[-1]
    else:
        with pytest.raises(UnsupportedApiError):
            ranges.newest_common(spec, usable)


def test_client_restricts_the_versions_it_can_work_with() -> None:
    connection = ClientConnection("test", MAX_BYTES, {ApiKey.FETCH: VersionRange(0, 12)})
    connection.served = ServedVersions({ApiKey.FETCH: VersionRange(4, 17)})
    assert connection.send(FetchRequest())[6:8] == struct.pack(">h", 12)
    with pytest.raises(UnsupportedApiError, match="does not serve Metadata"):
        connection.send(MetadataRequest())


def test_no_version_is_negotiated_before_the_broker_has_listed_its_own() -> None:
    with pytest.raises(UnsupportedApiError):
        ClientConnection("test", MAX_BYTES).send(MetadataRequest())


# -- opening a connection


class Broker:
    """Answers requests as `responses` has them by request type; keeps what it was sent."""

    def __init__(self, connection: ClientConnection, responses: dict[type[Message], list[Message]]) -> None:
        self.connection = connection
        self.responses = responses
        self.received: list[tuple[Message, int]] = []

    def __call__(self, request: Message) -> Any:
        sent = self.connection.send(request)
        key, version, correlation_id = struct.unpack_from(">hhi", sent, 4)
        self.received.append((request, version))
        response = self.responses[type(request)].pop(0)
        assert type(response).MESSAGE.api_key == key
        (event,) = self.connection.receive(frame_of(response, correlation_id, version))
        assert isinstance(event, ResponseReceived)
        return event.response


def versions_response() -> ApiVersionsResponse:
    ranges = {ApiKey.API_VERSIONS: (0, 4), ApiKey.SASL_HANDSHAKE: (0, 1), ApiKey.SASL_AUTHENTICATE: (0, 2)}
    return ApiVersionsResponse(
        api_keys=[ApiVersion(api_key=key, min_version=a, max_version=b) for key, (a, b) in ranges.items()]
    )


def opened(login: SaslLogin | None, *authentications: SaslAuthenticateResponse, handshake_error: int = 0) -> Broker:
    connection = ClientConnection("test", MAX_BYTES)
    broker = Broker(
        connection,
        {
            ApiVersionsRequest: [versions_response()],
            SaslHandshakeRequest: [SaslHandshakeResponse(error_code=handshake_error, mechanisms=["A", "B"])],
            SaslAuthenticateRequest: list(authentications),
        },
    )
    open_connection(connection, broker, login)
    return broker


SCRAM = SaslLogin(Credentials("SCRAM-SHA-256", "user", "secret"), "nonce")
PLAIN = SaslLogin(Credentials("PLAIN", "user", "secret"), "nonce")


def test_connection_is_opened_by_api_versions_0() -> None:
    broker = opened(None)
    assert broker.received == [(ApiVersionsRequest(), 0)]
    assert broker.connection.served is not None
    assert broker.connection.served.ranges[ApiKey.SASL_AUTHENTICATE] == VersionRange(0, 2)


def test_login_follows_in_the_newest_common_versions() -> None:
    broker = opened(PLAIN, SaslAuthenticateResponse())
    assert broker.received[1:] == [
        (SaslHandshakeRequest(mechanism="PLAIN"), 1),
        (SaslAuthenticateRequest(auth_bytes=b"\0user\0secret"), 2),
    ]


def test_refused_mechanism_is_an_error_with_the_brokers_code() -> None:
    with pytest.raises(UnsupportedSaslMechanismError, match="PLAIN is not among A, B"):
        opened(PLAIN, handshake_error=33)


def test_refused_credentials_are_an_error_with_the_brokers_text() -> None:
    with pytest.raises(SaslAuthenticationError, match="no such user"):
        opened(PLAIN, SaslAuthenticateResponse(error_code=58, error_message="no such user"))


def test_malformed_scram_reply_is_an_error() -> None:
    with pytest.raises(SaslError):
        opened(
            SaslLogin(Credentials("SCRAM-SHA-256", "user", "secret"), "nonce"),
            SaslAuthenticateResponse(auth_bytes=b"\xff"),
        )


@pytest.mark.parametrize(("code", "name"), [(35, "UNSUPPORTED_VERSION"), (9999, "9999")])
def test_broker_that_refuses_to_list_its_versions_is_an_error(code: int, name: str) -> None:
    connection = ClientConnection("test", MAX_BYTES)
    broker = Broker(connection, {ApiVersionsRequest: [ApiVersionsResponse(error_code=code)]})
    with pytest.raises(VersionsRefusedError, match=name):
        open_connection(connection, broker)


def test_heartbeat_round_trip_without_negotiation() -> None:
    connection = ClientConnection(None, MAX_BYTES)
    connection.send(HeartbeatRequest(group_id="g"), 4, "token")
    (event,) = connection.receive(frame_of(HeartbeatResponse(error_code=27), 1, 4))
    assert event == ResponseReceived(HeartbeatResponse(error_code=27), "token")
