"""ConsumerGroupHeartbeat: what makes a request invalid, whatever the state of its group is."""

from uuid import UUID

import pytest
from pybroker.broker.coordinator.group.consumer.heartbeat import Heartbeat, check
from pybroker.protocol.errors import ErrorCode
from support.in_process.consumer_groups import SETTINGS, heartbeat

SOME = {UUID(int=1): frozenset({0})}


def error_of(request: Heartbeat) -> ErrorCode:
    error = check(request, SETTINGS)
    return ErrorCode.NONE if error is None else error.code


@pytest.mark.parametrize(
    "request_",
    [
        heartbeat("a", 0, names=("t",)),
        heartbeat("a", 0, names=()),
        heartbeat("a", 0, pattern=""),
        heartbeat("", 0, version=0),
        heartbeat("a", 7),
        heartbeat("a", -1),
        heartbeat("a", -2, instance_id="i"),
        heartbeat("", -2, instance_id="i", version=0),
        heartbeat("a", 7, server_assignor="range"),
        heartbeat("a", 7, owned=SOME),
    ],
    ids=str,
)
def test_request_is_valid(request_: Heartbeat) -> None:
    assert error_of(request_) is ErrorCode.NONE


@pytest.mark.parametrize(
    "request_",
    [
        heartbeat("a", 0, group_id=""),
        heartbeat("a", 0, group_id=" \t"),
        heartbeat("", 0),
        heartbeat("", 7, version=0),
        heartbeat(" ", -1, version=0),
        heartbeat("a", 0, instance_id=""),
        heartbeat("a", 7, rack_id=" "),
        heartbeat("a", 0, rebalance_timeout_ms=-1),
        heartbeat("a", 0, owned=None),
        heartbeat("a", 0, owned=SOME),
        heartbeat("a", 0, names=None),
        heartbeat("a", -2),
        heartbeat("a", -3, instance_id="i"),
    ],
    ids=str,
)
def test_request_is_invalid(request_: Heartbeat) -> None:
    assert error_of(request_) is ErrorCode.INVALID_REQUEST


def test_assignor_that_the_broker_does_not_offer_is_unsupported() -> None:
    assert error_of(heartbeat("a", 0, server_assignor="sticky")) is ErrorCode.UNSUPPORTED_ASSIGNOR


def test_an_invalid_request_is_told_as_such_even_with_an_unsupported_assignor() -> None:
    assert error_of(heartbeat("", 0, server_assignor="sticky")) is ErrorCode.INVALID_REQUEST
