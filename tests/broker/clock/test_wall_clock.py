"""The wall clock that tests move ahead and stop."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.clock.wall_clock import MOST_AHEAD_MS, MovableWallClock, duration_ms

STEPS = st.lists(
    st.tuples(st.sampled_from(["pass", "advance", "freeze", "freeze at", "unfreeze"]), st.integers(0, 10**10)),
    max_size=20,
)


@given(STEPS)
def test_clock_never_goes_back_and_shows_what_passed_while_it_ran(steps: list[tuple[str, int]]) -> None:
    system_ms = 1_000
    clock = MovableWallClock(lambda: system_ms)
    expected, is_frozen = 1_000, False
    for kind, ms in steps:
        match kind:
            case "pass":
                system_ms += ms
                expected += 0 if is_frozen else ms
            case "advance":
                clock.advance(ms)
                expected += ms
            case "freeze":
                clock.freeze(None)
                is_frozen = True
            case "freeze at":
                expected += ms
                clock.freeze(expected)
                is_frozen = True
            case "unfreeze":
                clock.unfreeze()
                is_frozen = False
        assert clock.now_ms() == expected


def test_clock_cannot_be_frozen_in_the_past() -> None:
    clock = MovableWallClock(lambda: 5_000)
    with pytest.raises(ValueError, match="it is 5000 ms, so it cannot stand still at 4999 ms"):
        clock.freeze(4_999)
    assert clock.now_ms() == 5_000


def test_moves_that_add_up_to_more_than_a_century_are_refused_and_move_nothing() -> None:
    clock = MovableWallClock(lambda: 5_000)
    clock.advance(MOST_AHEAD_MS)
    moves: list[Callable[[], None]] = [lambda: clock.advance(1), lambda: clock.freeze(5_001 + MOST_AHEAD_MS)]
    for move in moves:
        with pytest.raises(ValueError, match="more than 100 years ahead of the system's clock"):
            move()
        assert clock.now_ms() == 5_000 + MOST_AHEAD_MS
    clock.freeze(None)
    with pytest.raises(ValueError, match="more than 100 years ahead"):
        clock.advance(1)


def test_duration_adds_all_units() -> None:
    assert duration_ms(days=1, hours=2, minutes=3, seconds=4, ms=5) == (((24 + 2) * 60 + 3) * 60 + 4) * 1000 + 5
    assert duration_ms(days=0, hours=0, minutes=0, seconds=0.5, ms=0) == 500


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), -float("inf")])
def test_duration_that_is_negative_or_endless_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match=r"moves ahead only|is a number"):
        duration_ms(days=0, hours=0, minutes=0, seconds=seconds, ms=0)
