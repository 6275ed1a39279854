"""Tests of the authorizer's log: Kafka's fields, levels, and a bound on repeated refusals."""

import logging

import pytest
from pybroker.base.acls import AclOperation, AclResourceType
from pybroker.broker.security.acl.authorizer_log import (
    AUTHORIZER_LOGGER,
    LONGEST_NAME,
    MOST_REFUSALS,
    QUIET_S,
    TRACE,
    AuthorizerLog,
)
from pybroker.protocol.apis import ApiKey


class Clock:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(clock: Clock, caplog: pytest.LogCaptureFixture) -> AuthorizerLog:
    caplog.set_level(TRACE, AUTHORIZER_LOGGER)
    return AuthorizerLog(clock)


def refuse(log: AuthorizerLog, name: str = "t", principal: str = "User:a") -> None:
    where = (principal, "10.0.0.1", AclOperation.READ, AclResourceType.TOPIC, name)
    log.verdict(logging.INFO, *where, api_key=ApiKey.FETCH, count=2, is_allowed=False)


def test_refusal_has_the_fields_of_kafka_in_its_order(log: AuthorizerLog, caplog: pytest.LogCaptureFixture) -> None:
    refuse(log)
    assert caplog.record_tuples == [
        (
            "kafka.authorizer.logger",
            logging.INFO,
            "Principal = User:a is Denied Operation = Read from host = 10.0.0.1 on resource = Topic:LITERAL:t "
            "for request = Fetch with resourceRefCount = 2",
        )
    ]


@pytest.mark.parametrize(("level", "is_allowed"), [(logging.DEBUG, True), (TRACE, False)])
def test_other_verdicts_have_their_level(
    level: int, is_allowed: bool, log: AuthorizerLog, caplog: pytest.LogCaptureFixture
) -> None:
    where = ("User:a", "h", AclOperation.DESCRIBE_CONFIGS, AclResourceType.TRANSACTIONAL_ID, "x")
    log.verdict(level, *where, api_key=-1, count=1, is_allowed=is_allowed)
    (record,) = caplog.records
    assert record.levelno == level
    assert "Operation = DescribeConfigs" in record.getMessage()
    assert "resource = TransactionalId:LITERAL:x for request = unknown" in record.getMessage()


def test_repeated_refusal_is_counted_and_logged_again_later(
    log: AuthorizerLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        refuse(log)
    refuse(log, "other")
    assert len(caplog.records) == 2
    clock.now_s += QUIET_S
    refuse(log)
    assert caplog.messages[-1].endswith("resourceRefCount = 2 (4 more such refusals since the last such line)")


def test_different_refusals_cannot_fill_the_log_or_the_memory(
    log: AuthorizerLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3 * MOST_REFUSALS):
        refuse(log, f"t{number}")
    assert len(caplog.records) == MOST_REFUSALS + 1
    clock.now_s += QUIET_S
    refuse(log, "new")
    assert len(caplog.records) == MOST_REFUSALS + 2


def test_names_cannot_forge_a_line(log: AuthorizerLog, caplog: pytest.LogCaptureFixture) -> None:
    refuse(log, "t\nPrincipal = User:root is Allowed", "User:a\r\u2028")
    assert caplog.messages[0].isprintable()
    assert r"Topic:LITERAL:t\nPrincipal" in caplog.messages[0]


def test_long_names_are_cut_so_that_remembered_refusals_take_little_memory(
    log: AuthorizerLog, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(10):
        refuse(log, "t" * 100_000 + str(number), "User:" + "a" * 100_000)
    (line,) = caplog.messages
    assert len(line) < 2 * LONGEST_NAME + 200
    assert f"Topic:LITERAL:{'t' * LONGEST_NAME}… for request" in line
