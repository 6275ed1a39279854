"""The pause after many consumers were answered together."""

import pytest
from pybroker.replication.partition.answer_pace import AnswerPace


@pytest.mark.parametrize(("count", "pause_ms"), [(0, 0), (1, 0), (3, 0), (4, 6), (5, 7.5), (8, 10), (1000, 10)])
def test_the_pause_grows_with_the_answers_and_has_a_bound(count: int, pause_ms: float) -> None:
    assert AnswerPace(max_pause_ms=10).pause_s(count) == pytest.approx(pause_ms / 1000)


def test_without_a_longest_pause_there_is_none() -> None:
    assert AnswerPace(max_pause_ms=0).pause_s(1000) == 0
