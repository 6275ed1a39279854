"""Moves of a clock that a JSON document asks for."""

from typing import Any

import pytest
from pybroker.broker.clock.clocks import TestClock
from pybroker.broker.clock.http_act import move_clock

DAY_MS = 86_400_000
MOST_MS = 100 * 366 * DAY_MS


@pytest.mark.parametrize(
    "document",
    [
        {"advance_ms": DAY_MS},
        {"advance_ms": DAY_MS, "wait_ms": 600_000},
        {"advance_timers_ms": DAY_MS},
        {"advance_timers_ms": DAY_MS, "silent": ["member"], "keep_alive": False},
    ],
)
async def test_clock_advances_and_the_answer_has_its_time(document: dict[str, object]) -> None:
    clock = TestClock()
    before_ms = clock.clock_ms()
    answer = await move_clock(clock, document)
    assert isinstance(answer["now_ms"], int)
    assert before_ms + DAY_MS <= answer["now_ms"] <= clock.clock_ms() < before_ms + 2 * DAY_MS


async def test_clock_stands_still_until_it_is_told_to_go_on() -> None:
    clock = TestClock()
    at_ms = clock.clock_ms() + DAY_MS
    assert await move_clock(clock, {"freeze": at_ms}) == {"now_ms": at_ms}
    assert await move_clock(clock, {"freeze": True}) == {"now_ms": at_ms}
    assert await move_clock(clock, {"advance_ms": 5}) == {"now_ms": at_ms + 5}
    await move_clock(clock, {"freeze": False})
    with pytest.raises(ValueError, match="moves ahead only"):
        await move_clock(clock, {"freeze": at_ms})


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({}, "one of advance_ms, advance_timers_ms, freeze is wanted, not none"),
        ({"advance_ms": 1, "freeze": True}, "not advance_ms and freeze"),
        ({"advance_ms": -1}, "advance_ms: a whole number from 0"),
        ({"advance_ms": 1.5}, "not 1.5"),
        ({"advance_ms": True}, "not true"),
        ({"advance_ms": MOST_MS + 1}, f"from 0 to {MOST_MS}"),
        ({"advance_ms": "x" * 1_000}, 'not "x'),
        ({"advance_ms": 1, "silent": []}, "unknown beside advance_ms: 'silent'"),
        ({"advance_timers_ms": None}, "not null"),
        ({"advance_timers_ms": DAY_MS + 1}, f"from 0 to {DAY_MS} is wanted"),
        ({"advance_timers_ms": 1, "silent": "member"}, "silent: a list of texts"),
        ({"advance_timers_ms": 1, "silent": [1]}, "silent: a list of texts"),
        ({"advance_timers_ms": 1, "keep_alive": 1}, "keep_alive: true or false"),
        ({"advance_ms": 1, "wait_ms": 600_001}, "wait_ms: a whole number from 0 to 600000"),
        ({"advance_timers_ms": 1, "wait_ms": -1}, "wait_ms: a whole number"),
        ({"freeze": MOST_MS, "wait_ms": None}, "wait_ms: a whole number"),
        ({"freeze": None}, "freeze: a whole number"),
        ({"freeze": 10**30}, "freeze: a whole number"),
    ],
)
async def test_bad_document_is_refused_in_one_line_and_moves_nothing(document: dict[str, Any], words: str) -> None:
    clock = TestClock()
    before_ms = clock.clock_ms()
    with pytest.raises(ValueError, match=words) as refused:
        await move_clock(clock, document)
    assert len(str(refused.value)) < 200
    assert clock.clock_ms() < before_ms + DAY_MS
