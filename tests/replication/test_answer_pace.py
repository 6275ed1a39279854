"""The pause after many consumers were answered together."""

import pytest
from pybroker.replication.answer_pace import AnswerPace


@pytest.mark.parametrize(("count", "pause_ms"), [(0, 0), (1, 0), (3, 0), (4, 2.8), (5, 3.5), (8, 5), (1000, 5)])
def test_the_pause_grows_with_the_answers_and_has_a_bound(count: int, pause_ms: float) -> None:
    pace = AnswerPace(max_pause_ms=5)
    pace.answered(count, 100.0)
    assert pace.is_paused(100.0) == (pause_ms > 0)
    assert pace.is_paused(100.0 + pause_ms / 1000 - 0.0005) == (pause_ms > 0)
    assert not pace.is_paused(100.0 + pause_ms / 1000 + 0.0005)


def test_without_a_longest_pause_there_is_none() -> None:
    pace = AnswerPace(max_pause_ms=0)
    pace.answered(1000, 100.0)
    assert not pace.is_paused(100.0)


def test_a_few_answers_leave_the_pause_that_is_under_way() -> None:
    pace = AnswerPace(max_pause_ms=4)
    pace.answered(8, 100.0)
    pace.answered(1, 100.001)
    assert pace.is_paused(100.003)
