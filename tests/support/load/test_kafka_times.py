"""The bounds of response times tell a request that waits for too long from a slow machine."""

import pytest
from support.load.answer_times import AnswerTime
from support.load.kafka_times import Bounds, is_late

AT_ONCE: Bounds = (0.0, 0.0)
PATIENT_ROUNDS = 80
"""The rounds of 900 ms on a machine where a round takes a little longer than it must."""


def answered(rounds: int | None, rounds_behind: int | None) -> AnswerTime:
    return AnswerTime("FindCoordinator", rounds=rounds, rounds_behind=rounds_behind)


@pytest.mark.parametrize(
    ("time", "bounds"),
    [
        (answered(PATIENT_ROUNDS, PATIENT_ROUNDS), AT_ONCE),
        (answered(1, PATIENT_ROUNDS), AT_ONCE),
        (answered(1, None), AT_ONCE),
        (answered(None, None), AT_ONCE),
        (answered(599, 599), (0.5, 0.5)),
        (answered(599, 599), (3.0, 3.0)),
        (answered(PATIENT_ROUNDS, PATIENT_ROUNDS), (None, 0.0)),
    ],
)
def test_request_that_waits_longer_than_with_kafka_is_late(time: AnswerTime, bounds: Bounds) -> None:
    assert is_late(time, bounds)


@pytest.mark.parametrize(
    ("time", "bounds"),
    [
        (answered(0, 0), AT_ONCE),
        (answered(30, 31), AT_ONCE),
        (answered(300, 300), (3.0, 3.0)),
        (answered(1, 300), (0.0, 3.0)),
        (answered(599, 599), (None, None)),
        (answered(None, None), (None, None)),
    ],
)
def test_request_that_waits_about_as_long_as_with_kafka_is_not_late(time: AnswerTime, bounds: Bounds) -> None:
    assert not is_late(time, bounds)
