"""Tests which behaviour the fuzzers' oracle reports and which it accepts."""

import pytest
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest
from pybroker.protocol.messages.headers import ResponseHeader
from pybroker.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from pybroker.protocol.messages.produce import ProduceRequest
from support.fuzzing.frames import ReadFrame, build_frame
from support.fuzzing.oracle import Oracle, may_be_unknown

SERVED: dict[int, range] = {ApiKey.HEARTBEAT: range(5), ApiKey.PRODUCE: range(12), ApiKey.API_VERSIONS: range(5)}


def heartbeat(version: int = 4) -> ReadFrame:
    return ReadFrame.read(build_frame(HeartbeatRequest(group_id="g"), version, 7))


def answer(message: Message, version: int = 4, correlation_id: int = 7) -> bytes:
    header = ResponseHeader(correlation_id=correlation_id)
    return encode(header, 1 if version >= 4 else 0) + encode(message, version)


@pytest.mark.parametrize("version", [0, 3, 4])
def test_oracle_accepts_a_declared_response(version: int) -> None:
    told = answer(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID), version)
    assert Oracle(SERVED).judge_answer(heartbeat(version), told)[1] == ""


@pytest.mark.parametrize(
    ("told", "complaint"),
    [
        (answer(HeartbeatResponse(), correlation_id=8), "correlation id is 8"),
        (answer(HeartbeatResponse()) + b"\0", "not what is declared"),
        (answer(HeartbeatResponse())[:-2], "not what is declared"),
        (answer(HeartbeatResponse(error_code=-1)), "UNKNOWN_SERVER_ERROR"),
    ],
)
def test_any_other_answer_is_a_complaint(told: bytes, complaint: str) -> None:
    assert complaint in Oracle(SERVED).judge_answer(heartbeat(), told)[1]


def test_oracle_reports_a_response_to_an_undecodable_or_unserved_request() -> None:
    torn = ReadFrame.read(heartbeat().data[:-3])
    assert "cannot be decoded" in Oracle(SERVED).judge_answer(torn, answer(HeartbeatResponse()))[1]
    assert "not served" in Oracle({**SERVED, 12: range(3)}).judge_answer(heartbeat(), answer(HeartbeatResponse()))[1]


def test_broker_may_close_the_connection_only_after_unservable_frames() -> None:
    oracle = Oracle(SERVED)
    assert oracle.judge_close(heartbeat()) != ""
    assert oracle.judge_close(ReadFrame.read(heartbeat().data[:-3])) == ""
    assert oracle.judge_close(ReadFrame.read(build_frame(ProduceRequest(acks=0), 8, 7))) == ""
    assert oracle.judge_close(ReadFrame.read(build_frame(ProduceRequest(acks=1), 8, 7))) != ""


def test_unknown_server_error_is_allowed_where_kafka_says_it() -> None:
    assert may_be_unknown(ElectLeadersRequest(election_type=2))
    assert not may_be_unknown(ElectLeadersRequest(election_type=1))
