"""Tests how often the log names an offender."""

import logging

import pytest
from pybroker.broker.network.offender_log import OffenderLog, Violation


class Clock:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_offender_log_writes_one_line_per_host_in_its_quiet_time(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    log = OffenderLog(logging.getLogger("test"), clock, quiet_s=30)
    for _ in range(5000):
        log.warn("10.0.0.1", Violation.HEADER, "nonsense")
    log.warn("10.0.0.2", Violation.HEADER, "other nonsense")
    assert caplog.messages == ["nonsense", "other nonsense"]
    clock.now_s += 30
    log.warn("10.0.0.1", Violation.HEADER, "nonsense")
    assert caplog.messages[2:] == ["nonsense (4999 more from 10.0.0.1 since the last such line)"]


def test_offender_log_writes_a_line_for_each_kind_of_offence(caplog: pytest.LogCaptureFixture) -> None:
    log = OffenderLog(logging.getLogger("test"), Clock(), quiet_s=30)
    for violation in (Violation.TLS, Violation.HTTP, Violation.NOT_SERVED, Violation.HTTP):
        log.warn("10.0.0.1", violation, violation.name)
    assert caplog.messages == ["TLS", "HTTP", "NOT_SERVED"]


def warn_of_hosts(log: OffenderLog, count: int) -> None:
    for number in range(count):
        log.warn(f"10.0.{number // 256}.{number % 256}", Violation.HEADER, f"nonsense of {number}")


@pytest.mark.parametrize("count", [1, 20, 1000])
def test_offender_log_writes_one_line_per_offender_however_often_each_offends(
    count: int, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock()
    log = OffenderLog(logging.getLogger("test"), clock, quiet_s=30)
    for _ in range(29):
        warn_of_hosts(log, count)
        clock.now_s += 1
    assert len(caplog.messages) == count
    clock.now_s += 1
    warn_of_hosts(log, count)
    assert len(caplog.messages) == 2 * count
    assert all(
        line.endswith("since the last such line)") and "(28 more from" in line for line in caplog.messages[count:]
    )


def test_offenders_beyond_the_1024_that_are_remembered_share_a_line(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    log = OffenderLog(logging.getLogger("test"), clock, quiet_s=30)
    for _ in range(3):
        warn_of_hosts(log, 5000)
    assert len(caplog.messages) == 1025
    clock.now_s += 30
    log.warn("10.99.0.1", Violation.HEADER, "nonsense")
    assert caplog.messages[-1] == "nonsense"


def test_offender_log_tells_the_failures_of_two_users_of_one_host(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    log = OffenderLog(logging.getLogger("test"), clock, quiet_s=30)
    for _ in range(3):
        for user in ("alice", "bob"):
            log.warn("10.0.0.1", Violation.LOGIN, f"wrong password of {user}", user)
    assert caplog.messages == ["wrong password of alice", "wrong password of bob"]
    clock.now_s += 30
    log.warn("10.0.0.1", Violation.LOGIN, "wrong password of bob", "bob")
    assert caplog.messages[2:] == ["wrong password of bob (2 more from 10.0.0.1 since the last such line)"]


def test_a_host_that_invents_users_writes_nine_lines_in_the_quiet_time(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    log = OffenderLog(logging.getLogger("test"), clock, quiet_s=30)
    for number in range(10_000):
        clock.now_s += 0.002
        log.warn("10.0.0.1", Violation.LOGIN, f"wrong password of {number}", str(number))
    log.warn("10.0.0.2", Violation.LOGIN, "wrong password of alice", "alice")
    assert caplog.messages == [*(f"wrong password of {number}" for number in range(9)), "wrong password of alice"]
    assert log.counts[Violation.LOGIN] == 10_001
    clock.now_s += 30
    for number in range(8):
        log.warn("10.0.0.1", Violation.LOGIN, f"another wrong password of {number}", f"another {number}")
    assert len(caplog.messages) == 18


def test_hosts_that_invent_users_share_the_line_of_other_hosts(caplog: pytest.LogCaptureFixture) -> None:
    log = OffenderLog(logging.getLogger("test"), Clock(), quiet_s=30)
    warn_of_hosts(log, 1024)
    for number in range(100):
        log.warn("10.99.0.1", Violation.LOGIN, f"wrong password of {number}", str(number))
    assert caplog.messages[1024:] == ["wrong password of 0"]
