"""Tests that the comparison finds differences, without brokers."""

import pytest
from interop.side_by_side.allowed_differences import ANY, Allowed, is_allowed_everywhere
from interop.side_by_side.conversation import Step
from interop.side_by_side.differences import Difference, differences
from interop.side_by_side.plain_form import PlainForm
from interop.side_by_side.requests import batch, message_set
from pybroker.protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from pybroker.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from pybroker.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker

ADDRESS = ("127.0.0.1", 9092)
ONE, TWO = "client-11111111-2222-4333-8444-555555555551", "client-11111111-2222-4333-8444-555555555552"


def compare(kafka: object, pybroker: object) -> list[str]:
    found = differences([Step("1 Fetch v0", kafka)], [Step("1 Fetch v0", pybroker)])
    return [each.where.removeprefix("1 Fetch v0: ") for each in found]


@pytest.mark.parametrize(
    ("kafka", "pybroker", "expected"),
    [
        ({"a": 1, "b": [1, {"c": None}]}, {"a": 1, "b": [1, {"c": None}]}, []),
        ({"a": 1}, {"a": 2}, ["a"]),
        ({"a": [{"b": 1}, {"b": 2}]}, {"a": [{"b": 1}, {"b": 3}]}, ["a.1.b"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a"]),
        ({"a": None}, {"a": ""}, ["a"]),
        ({"a": 0}, {"a": False}, ["a"]),
        ({"a": 1}, {}, ["a"]),
        ({}, {"a": None}, ["a"]),
        ("closed", {"a": 1}, ["answer"]),
    ],
)
def test_comparison_covers_every_field(kafka: object, pybroker: object, expected: list[str]) -> None:
    assert compare(kafka, pybroker) == expected


def test_other_steps_and_other_number_of_steps_are_differences() -> None:
    steps = [Step("1 Fetch v0", {}), Step("2 Fetch v0", {})]
    assert [each.where for each in differences(steps, steps[:1])] == ["the number of steps"]
    assert [each.where for each in differences(steps, [Step("1 Produce v0", {})])] == ["the course of the scenario"]


def test_additional_produce_error_message_is_allowed_everywhere() -> None:
    assert is_allowed_everywhere(Difference("3 Produce v9: responses.0.errorMessage", None, "some text"))
    assert not is_allowed_everywhere(Difference("3 Produce v9: responses.0.errorMessage", "some text", None))
    assert not is_allowed_everywhere(Difference("3 Produce v9: responses.0.errorCode", None, "some text"))
    assert not is_allowed_everywhere(Difference("3 Fetch v9: responses.0.errorMessage", None, "some text"))


def test_allowed_difference_covers_only_its_own_values() -> None:
    allowed = Allowed("* (x): *.errorCode", "a reason", "NONE", "INVALID_REQUEST")
    assert allowed.covers(Difference("3 Fetch v9 (x): a.errorCode", "NONE", "INVALID_REQUEST"))
    assert not allowed.covers(Difference("3 Fetch v9 (x): a.errorCode", "NONE", "UNKNOWN_SERVER_ERROR"))
    assert not allowed.covers(Difference("3 Fetch v9 (x): a.errorCode", "INVALID_RECORD", "INVALID_REQUEST"))
    assert not allowed.covers(Difference("3 Fetch v9 (y): a.errorCode", "NONE", "INVALID_REQUEST"))
    assert Allowed("*", "a reason", [], ANY).covers(Difference("1 Fetch v9: records", [], ["anything"]))


def joined(leader: str, *members: str) -> object:
    answer = JoinGroupResponse(
        leader=leader, member_id=members[0], members=[JoinGroupResponseMember(member_id=each) for each in members]
    )
    return PlainForm(ADDRESS).of(answer, 5)


def test_ids_are_named_by_their_first_appearance() -> None:
    assert joined(ONE, ONE, TWO) == joined(TWO, TWO, ONE)
    assert joined(ONE, ONE, TWO) != joined(TWO, ONE, TWO)


def test_only_the_brokers_own_address_is_replaced() -> None:
    def at(host: str, port: int) -> object:
        return PlainForm(ADDRESS).of(MetadataResponse(brokers=[MetadataResponseBroker(host=host, port=port)]), 1)

    assert at(*ADDRESS) == PlainForm(("h", 1)).of(
        MetadataResponse(brokers=[MetadataResponseBroker(host="h", port=1)]), 1
    )
    assert at("127.0.0.1", 9093) != at(*ADDRESS)
    assert at("0.0.0.0", 9092) != at(*ADDRESS)


@pytest.mark.parametrize("data", [batch(2), message_set(1, 2)])
def test_records_are_compared_one_by_one(data: bytes) -> None:
    def fetched(records: bytes) -> object:
        topic = FetchableTopicResponse(topic="t", partitions=[PartitionData(records=records)])
        return PlainForm(ADDRESS).of(FetchResponse(responses=[topic]), 4)

    assert fetched(data) == fetched(bytes(data))
    assert fetched(data) != fetched(data[:-1] + b"!")
    assert fetched(data) != fetched(data + b"\0")
