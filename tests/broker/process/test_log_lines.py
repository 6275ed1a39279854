"""The log stays readable when clients cause very many or very long log lines."""

import logging

import pytest
from pybroker.base.gathered_lines import log_gathered
from pybroker.base.quiet_lines import QUIET
from pybroker.base.slow_waits import told_if_slow
from pybroker.broker.process.log_lines import LogRateLimit, OneLineFormatter
from support.time.virtual_time import VirtualTime


def test_similar_events_share_a_line_that_counts_them(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("test.gathered")
    caplog.set_level("INFO", "test.gathered")
    for count in (0, 1, 3, 5):
        log_gathered(logger, logging.INFO, "test.event", [f"{number} %s" for number in range(count)])
    assert caplog.messages == ["0 %s", "0 %s; 1 %s; 2 %s", "0 %s; 1 %s; 2 %s; and 2 more like these"]
    caplog.clear()
    caplog.set_level("DEBUG", "test.gathered")
    log_gathered(logger, logging.INFO, "test.event", [str(number) for number in range(5)])
    assert caplog.messages == ["0", "1", "2", "3", "4"]


def record(message: str, created: float, line: int = 1) -> logging.LogRecord:
    made = logging.LogRecord("pybroker", logging.INFO, "a.py", line, message, None, None)
    made.created = created
    return made


def text_of(line: logging.LogRecord) -> str:
    return OneLineFormatter("%(message)s").format(line)


def test_flood_of_log_lines_is_cut_to_the_first_lines_and_a_count() -> None:
    gate = LogRateLimit(burst=3, period_s=10)
    assert [gate.filter(record("joined", 100 + number)) for number in range(5)] == [True] * 3 + [False] * 2
    assert gate.filter(record("left", 104, line=2))  # another place has lines of its own
    after = record("joined", 110)
    assert gate.filter(after)
    assert text_of(after) == "joined (2 more lines like this were left out before it)"
    assert gate.filter(quiet := record("joined", 120))
    assert text_of(quiet) == "joined"


def test_long_flood_is_logged_ever_less_often_and_later_lines_in_full() -> None:
    gate = LogRateLimit(burst=100, period_s=10)

    def written(began_s: int, lines: int) -> int:
        return sum(gate.filter(record("joined", began_s + number / 1000)) for number in range(lines))

    assert [written(began_s, 500) for began_s in range(0, 50, 10)] == [100, 10, 1, 1, 1]
    assert [written(began_s, 50) for began_s in range(50, 80, 10)] == [1, 50, 50]


def test_refusals_are_logged_once_in_half_a_minute_with_a_count() -> None:
    def refusal(created: float) -> logging.LogRecord:
        made = record("no room", created)
        vars(made).update(QUIET)
        return made

    gate = LogRateLimit()
    assert [gate.filter(refusal(100 + second)) for second in range(30)] == [True] + [False] * 29
    after = refusal(130)
    assert gate.filter(after)
    assert text_of(after) == "no room (29 more lines like this were left out before it)"


def test_log_lines_have_a_maximum_length() -> None:
    line = OneLineFormatter("%(message)s").format(record("x" * 10_000, 0))
    assert len(line) < 4200
    assert line.endswith("more characters)")


def test_step_of_a_start_is_named_only_when_it_takes_more_than_two_seconds(caplog: pytest.LogCaptureFixture) -> None:
    logger, time = logging.getLogger("test.slow"), VirtualTime()
    with told_if_slow(time, logger, lambda: "waiting for the first"):
        time.advance(1999)
    with told_if_slow(time, logger, lambda: "waiting for the second"):
        time.advance(1999)
        assert caplog.messages == []
        time.advance(1)
        assert caplog.messages == ["waiting for the second"]
        time.advance(4_000)
        assert caplog.messages == ["waiting for the second"] * 2
    time.advance(60_000)
    assert caplog.messages == ["waiting for the second"] * 2
    assert time.armed_count == 0
