"""The dispatcher: which response each request gets, and which requests close the connection."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.apis.cluster.api_versions import ApiVersions, with_api_versions
from pybroker.broker.network.request import CloseConnectionError, ConnectionInfo, LaterReply, Reply, ReplyPart, Request
from pybroker.broker.network.request_header import RequestHeaderParser
from pybroker.broker.requests.context import EncodedResponse, Handler, RequestContext
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.broker.requests.failures import failure_response
from pybroker.broker.requests.group_features import GroupFeatures
from pybroker.broker.requests.share_state_errors import SHARE_STATE_ERRORS
from pybroker.controller.features import FeatureLevels
from pybroker.controller.tree.metadata_store import ConnectionLossError, SessionExpiredError, StoreWriteError
from pybroker.protocol.apis import API_SPECS, ApiKey, Listener
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import ErrorCode, NotCoordinatorError, UnknownServerError
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.headers import RequestHeader
from pybroker.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from support.in_process.group_handlers import call
from support.in_process.served_apis import error_codes, served_apis, with_one_of_each

REFERENCE = Path(__file__).resolve().parents[2] / "reference"
CONNECTION = ConnectionInfo("PLAINTEXT", "PLAINTEXT", ("127.0.0.1", 9092), ("127.0.0.1", 40000))


def received(frame: bytes) -> Request:
    """A request as the network layer hands it over."""
    body = bytearray(frame)
    key, version, correlation_id, client_id, size = RequestHeaderParser().parse(body)
    name = client_id.decode() if client_id is not None else None
    return Request(key, version, correlation_id, name, size, body, CONNECTION, 1_700_000_000_000)


def heartbeat(version: int = 4) -> Request:
    header = RequestHeader(
        request_api_key=ApiKey.HEARTBEAT, request_api_version=version, correlation_id=7, client_id="test"
    )
    spec = API_SPECS[ApiKey.HEARTBEAT]
    body = encode(HeartbeatRequest(group_id="g", member_id="m"), version)
    return received(encode(header, spec.request_header_version(version)) + body)


async def settled(reply: Reply) -> list[ReplyPart] | None:
    if isinstance(reply, LaterReply):
        await asyncio.wait([reply.future])
        return reply.settle()
    return await reply if isinstance(reply, Awaitable) else reply


def joined(parts: list[ReplyPart]) -> bytes:
    return b"".join(parts)  # type: ignore[arg-type]


async def answer(dispatcher: Dispatcher, request: Request) -> bytes | None:
    reply = await settled(dispatcher(request))
    return None if reply is None else joined(reply)


def heartbeats_by(handler: Handler) -> Dispatcher:
    return Dispatcher({ApiKey.HEARTBEAT: handler})


@pytest.mark.parametrize("version", range(5))
async def test_response_has_the_correlation_id_in_the_header_of_its_version(version: int) -> None:
    reply = await answer(heartbeats_by(lambda context, request: HeartbeatResponse(error_code=25)), heartbeat(version))
    assert reply is not None
    header = b"\x00\x00\x00\x07" + (b"\x00" if version >= 4 else b"")
    assert reply.startswith(header)
    assert decode(HeartbeatResponse, reply[len(header) :], version).error_code == 25


async def test_a_handler_may_return_its_own_future() -> None:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    reply = heartbeats_by(lambda context, request: future)(heartbeat())
    assert isinstance(reply, LaterReply)
    future.set_result(HeartbeatResponse(error_code=25))
    parts = await settled(reply)
    assert parts is not None
    assert decode(HeartbeatResponse, joined(parts)[5:], 4).error_code == 25


async def test_a_waiting_request_keeps_its_message_only_where_a_failure_response_needs_it() -> None:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    asked: list[Any] = []

    def later(context: RequestContext, request: Any) -> Any:
        asked.append(request)
        return future

    request = heartbeat()
    frame_bytes = len(request.frame)
    reply = heartbeats_by(later)(request)
    assert isinstance(reply, LaterReply)
    assert (frame_bytes > 0, len(request.frame)) == (True, 0)
    (message,) = asked
    assert not any(message is each for each in reply.settle.args)  # type: ignore[attr-defined]
    future.set_exception(NotCoordinatorError("elsewhere"))
    assert await settled(reply) is not None


class OwnResponse(EncodedResponse):
    """A response that its handler encodes."""

    def encode_body(self, throttle_time_ms: int) -> bytes:
        return b"throttled %d!" % throttle_time_ms


@pytest.mark.parametrize("throttle_time_ms", [0, 250])
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_handler_may_encode_its_response_itself(at_once: bool, throttle_time_ms: int) -> None:
    encoded = OwnResponse()
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_result(encoded)
    request = heartbeat()
    request.throttle_time_ms = throttle_time_ms
    reply = await answer(heartbeats_by(lambda context, request: encoded if at_once else future), request)
    assert reply == b"\x00\x00\x00\x07\x00throttled %d!" % throttle_time_ms


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("error", [None, NotCoordinatorError("elsewhere")])
async def test_every_response_tells_the_throttle_time_of_its_request(version: int, error: Exception | None) -> None:
    def handler(context: RequestContext, request: HeartbeatRequest) -> HeartbeatResponse:
        assert context.request is not None
        context.request.throttle_time_ms = 250
        if error is not None:
            raise error
        return HeartbeatResponse()

    reply = await answer(heartbeats_by(handler), heartbeat(version))
    assert reply is not None
    response = decode(HeartbeatResponse, reply[5 if version >= 4 else 4 :], version)
    assert response.throttle_time_ms == (250 if version >= 1 else 0)


@pytest.mark.parametrize("error", [NotCoordinatorError("elsewhere"), CloseConnectionError("acks=0")])
async def test_an_error_in_a_future_becomes_a_code_or_closes_the_connection(error: Exception) -> None:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    reply = heartbeats_by(lambda context, request: future)(heartbeat())
    assert isinstance(reply, LaterReply)
    future.set_exception(error)
    if isinstance(error, CloseConnectionError):
        with pytest.raises(CloseConnectionError):
            await settled(reply)
    else:
        parts = await settled(reply)
        assert parts is not None
        assert decode(HeartbeatResponse, joined(parts)[5:], 4).error_code == ErrorCode.NOT_COORDINATOR


async def test_a_handler_may_answer_later_or_not_at_all() -> None:
    async def later(context: RequestContext, request: Any) -> HeartbeatResponse:
        await asyncio.sleep(0)
        return HeartbeatResponse()

    assert await answer(heartbeats_by(later), heartbeat()) is not None
    assert await answer(heartbeats_by(lambda context, request: None), heartbeat()) is None


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NotCoordinatorError("elsewhere"), ErrorCode.NOT_COORDINATOR),
        (ZeroDivisionError(), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_an_exception_of_a_handler_becomes_an_error_code(
    error: Exception, code: ErrorCode, late: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def at_once(context: RequestContext, request: Any) -> Any:
        raise error

    async def later(context: RequestContext, request: Any) -> Any:
        raise error

    reply = await answer(heartbeats_by(later if late else at_once), heartbeat())
    assert reply is not None
    assert decode(HeartbeatResponse, reply[5:], 4).error_code == code
    logged = [record for record in caplog.records if record.exc_info]
    assert len(logged) == (code is ErrorCode.UNKNOWN_SERVER_ERROR)


async def test_a_failed_write_of_the_metadata_store_becomes_a_storage_error_without_another_log_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def full(context: RequestContext, request: Any) -> Any:
        raise StoreWriteError("/data/store", "database or disk is full")

    reply = await answer(heartbeats_by(full), heartbeat())
    assert reply is not None
    assert decode(HeartbeatResponse, reply[5:], 4).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert caplog.records == []


@pytest.mark.parametrize("error", [ConnectionLossError(None, "gone"), SessionExpiredError(None, "over")])
async def test_an_unreachable_metadata_store_becomes_not_controller(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def away(context: RequestContext, request: Any) -> Any:
        raise error

    reply = await answer(heartbeats_by(away), heartbeat())
    assert reply is not None
    assert decode(HeartbeatResponse, reply[5:], 4).error_code == ErrorCode.NOT_CONTROLLER
    (record,) = caplog.records
    assert record.exc_info is None


async def test_a_response_that_cannot_be_encoded_becomes_unknown_server_error() -> None:
    reply = await answer(heartbeats_by(lambda context, request: HeartbeatResponse(error_code=10**9)), heartbeat())
    assert reply is not None
    assert decode(HeartbeatResponse, reply[5:], 4).error_code == ErrorCode.UNKNOWN_SERVER_ERROR


def test_an_api_or_version_that_is_not_served_closes_the_connection() -> None:
    dispatcher = Dispatcher({})
    with pytest.raises(CloseConnectionError, match="not served"):
        dispatcher(heartbeat())
    with pytest.raises(CloseConnectionError, match="HEARTBEAT v99 is not served"):
        heartbeats_by(lambda context, request: None)(received(b"\x00\x0c\x00\x63" + bytes(8)))


def test_a_request_that_cannot_be_decoded_closes_the_connection_with_its_name() -> None:
    request = heartbeat()
    broken = received(bytes(request.frame[:-3]))
    with pytest.raises(CloseConnectionError, match="HEARTBEAT v4 could not be decoded"):
        heartbeats_by(lambda context, request: None)(broken)


NO_FEATURES = FeatureLevels(None)  # type: ignore[arg-type]


def listing(handlers: Mapping[ApiKey, Any]) -> dict[ApiKey, Any]:
    """The handlers of a broker in a cluster without features."""
    return with_api_versions(handlers, NO_FEATURES, is_in_cluster=True)


async def test_a_too_new_api_versions_request_gets_the_response_of_apache_kafka() -> None:
    """Recorded from Kafka 3.9.1: version 99 gets a response of version 0 with ApiVersions alone."""
    lines = (REFERENCE / "logdirs/kafka-3.9/api-versions.jsonl").read_text().splitlines()
    exchange = next(line for line in map(json.loads, lines) if line["version"] == 99)
    reply = await answer(Dispatcher(listing({})), received(bytes.fromhex(exchange["request"])[4:]))
    assert reply == bytes.fromhex(exchange["response"])[4:]


@pytest.mark.parametrize("version", range(5))
async def test_api_versions_equals_that_of_apache_kafka_when_all_its_apis_are_served(version: int) -> None:
    lines = (REFERENCE / "logdirs/kafka-3.9/api-versions.jsonl").read_text().splitlines()
    exchange = next(line for line in map(json.loads, lines) if line["version"] == version)
    served = {
        key: lambda context, request: None for key, spec in API_SPECS.items() if Listener.ZK_BROKER in spec.listeners
    }
    reply = await answer(Dispatcher(listing(served)), received(bytes.fromhex(exchange["request"])[4:]))
    assert reply == bytes.fromhex(exchange["response"])[4:]


@pytest.mark.parametrize(("software", "is_told"), [("apache-kafka-java", False), ("kafka-python", True)])
async def test_api_versions_hides_describe_topic_partitions_from_the_java_client(software: str, is_told: bool) -> None:
    """If it were listed, ``kafka-topics --describe`` would print empty eligible leader replicas, not N/A."""
    request = ApiVersionsRequest(client_software_name=software, client_software_version="3.9.1")
    served = ApiVersions(
        [ApiKey.METADATA, ApiKey.DESCRIBE_TOPIC_PARTITIONS],
        NO_FEATURES,
        GroupFeatures.asked_for(NO_FEATURES, [], is_in_cluster=True),
        is_in_cluster=True,
    )
    for version in (3, 4):
        answer = await call(served, version, request)
        assert [each.api_key for each in answer.api_keys] == [3, 18] + [75] * is_told


LAST_VERSIONS = {ApiKey.PRODUCE: (11, 12), ApiKey.END_TXN: (4, 5), ApiKey.TXN_OFFSET_COMMIT: (4, 5)}
"""Below level 2 of ``transaction.version``, and from it on."""


@pytest.mark.parametrize("is_in_cluster", [True, False])
@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("version", [2, 3, 4])
async def test_api_versions_tells_the_level_of_the_transaction_version(
    version: int, level: int, is_in_cluster: bool
) -> None:
    features = FeatureLevels(None)  # type: ignore[arg-type]
    features.levels, features.epoch = {"transaction.version": level}, 7
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1") if version > 2 else None
    group_features = GroupFeatures.asked_for(features, [], is_in_cluster=is_in_cluster)
    served = ApiVersions(LAST_VERSIONS, features, group_features, is_in_cluster=is_in_cluster)
    reply = await call(served, version, request or ApiVersionsRequest())
    last = {each.api_key: each.max_version for each in reply.api_keys}
    assert {key: last[key] for key in LAST_VERSIONS} == {key: each[level == 2] for key, each in LAST_VERSIONS.items()}
    if version > 2:
        finalized = [(each.name, each.min_version_level, each.max_version_level) for each in reply.finalized_features]
        assert finalized == [("transaction.version", level, level)] * (level > 0)
        assert reply.finalized_features_epoch == 7
        supported = [(each.name, each.min_version, each.max_version) for each in reply.supported_features]
        is_offered = version == 4 and (level > 0 or not is_in_cluster)
        assert supported == [("transaction.version", 0, 2)] * is_offered


CASES_OF_PROTOCOLS = [
    # asked for, in a cluster, level: served
    (False, False, 0, False),
    (False, True, 1, False),
    (True, False, 0, True),
    (True, True, 0, False),
    (True, True, 1, True),
]


@pytest.mark.parametrize("feature", ["group.version", "share.version"])
@pytest.mark.parametrize(("is_asked_for", "is_in_cluster", "level", "is_served"), CASES_OF_PROTOCOLS)
async def test_api_versions_lists_a_group_protocol_where_settings_and_the_level_of_its_feature_allow_it(
    feature: str, is_asked_for: bool, is_in_cluster: bool, level: int, is_served: bool
) -> None:
    features = FeatureLevels(None)  # type: ignore[arg-type]
    features.levels = {feature: level}
    groups = GroupFeatures.asked_for(features, [feature] * is_asked_for, is_in_cluster=is_in_cluster)
    keys = [ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.SHARE_FETCH, ApiKey.READ_SHARE_GROUP_STATE]
    served = ApiVersions(keys, features, groups, is_in_cluster=is_in_cluster)
    reply = await call(served, 4, ApiVersionsRequest(client_software_name="x", client_software_version="1"))
    last = {each.api_key: each.max_version for each in reply.api_keys}
    is_share = feature == "share.version"
    assert last[ApiKey.CONSUMER_GROUP_HEARTBEAT] == int(is_served and not is_share)
    assert set(keys[1:]) & last.keys() == (set(keys[1:]) if is_served and is_share else set())
    assert [each.name for each in reply.finalized_features] == [feature] * is_served
    is_offered = is_asked_for and (is_served or not is_in_cluster)
    assert (feature in [each.name for each in reply.supported_features]) == is_offered


ROOM_FOR_AN_ERROR_SINCE = {ApiKey.DESCRIBE_LOG_DIRS: 3}


@pytest.mark.parametrize("key", [*served_apis(), *SHARE_STATE_ERRORS], ids=lambda key: key.name)
def test_every_served_api_has_a_failure_response_with_an_error_code(key: ApiKey) -> None:
    """Every error code in the response is that of the error: no client may read a failure as a success."""
    spec = API_SPECS[key]
    for version in range(spec.min_version, spec.max_version + 1):
        request = with_one_of_each(spec.request_type(), version)
        failed = failure_response(key, version, request, UnknownServerError("why"))
        if key is ApiKey.PRODUCE:
            assert failed is None, "with acks=0 there is no answer"
            request.acks = 1
            failed = failure_response(key, version, request, UnknownServerError("why"))
        answer = decode(spec.response_type(), encode(failed, version), version)
        codes = set(error_codes(answer, version))
        expected = {ErrorCode.UNKNOWN_SERVER_ERROR} if version >= ROOM_FOR_AN_ERROR_SINCE.get(key, 0) else set()
        assert codes == expected, f"{key.name} v{version}"


@given(st.binary(max_size=64))
def test_random_bytes_after_a_header_only_close_the_connection(body: bytes) -> None:
    dispatcher = heartbeats_by(lambda context, request: HeartbeatResponse())
    with contextlib.suppress(CloseConnectionError):
        assert dispatcher(received(b"\x00\x0c\x00\x00\x00\x00\x00\x01\xff\xff" + body))
