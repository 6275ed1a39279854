"""The expected error codes belong to requests that are sent, and a refusal of a valid request is noticed."""

from pybroker.protocol.errors import ErrorCode
from support.load.answer_times import AnswerTime
from support.load.healthy_codes import HEALTHY_CODES, unexpected_codes
from support.load.request_of_each_api import requests_of_each_api
from support.load.scene import Scene


def test_each_expected_code_belongs_to_a_request_that_is_sent() -> None:
    assert set(HEALTHY_CODES) <= {each.name for each in requests_of_each_api(Scene(1, 2, "group"))}


def test_refused_request_that_should_be_accepted_has_an_unexpected_code() -> None:
    refused = AnswerTime("Heartbeat", codes=[ErrorCode.UNKNOWN_MEMBER_ID])
    assert unexpected_codes(refused) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert unexpected_codes(AnswerTime("Heartbeat", codes=[ErrorCode.NONE])) == []


def test_accepted_request_that_should_be_refused_has_an_unexpected_code() -> None:
    accepted = AnswerTime("Heartbeat, unknown member", codes=[ErrorCode.NONE])
    assert unexpected_codes(accepted) == [ErrorCode.NONE]
