"""Tests of the answers that requests get, and of what the log says about them."""

import logging

import pytest
from pybroker.base.acl_rules.acl_index import AclIndex
from pybroker.base.acl_rules.authorizer import AclAuthorizer
from pybroker.base.acls import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from pybroker.broker.security.acl.access import Access
from pybroker.broker.security.acl.authorizer_log import AUTHORIZER_LOGGER, TRACE, AuthorizerLog
from pybroker.protocol.apis import ApiKey
from support.acls import by_pattern

PATTERN = ResourcePattern(AclResourceType.TOPIC, "t", PatternType.LITERAL)
ENTRY = AclEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
READ_T = (AclOperation.READ, AclResourceType.TOPIC, "t")


@pytest.fixture
def access(caplog: pytest.LogCaptureFixture) -> Access:
    caplog.set_level(TRACE, AUTHORIZER_LOGGER)
    index = AclIndex(by_pattern([AclBinding(PATTERN, ENTRY)]))
    return Access(AclAuthorizer(index), AuthorizerLog(lambda: 0.0))


def test_answers_are_logged_by_their_verdict(access: Access, caplog: pytest.LogCaptureFixture) -> None:
    assert access.may("User:a", "h", *READ_T, api_key=ApiKey.FETCH)
    assert not access.may("User:b", "h", *READ_T, api_key=ApiKey.FETCH, count=3)
    assert [record.levelno for record in caplog.records] == [logging.DEBUG, logging.INFO]
    assert caplog.messages[1].endswith("for request = Fetch with resourceRefCount = 3")


def test_known_verdicts_are_those_of_the_acls_in_force_and_need_no_log_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    index = AclIndex(by_pattern([AclBinding(PATTERN, ENTRY)]))
    caplog.set_level(logging.DEBUG, AUTHORIZER_LOGGER)
    access = Access(AclAuthorizer(index), AuthorizerLog(lambda: 0.0))
    level = logging.getLogger(AUTHORIZER_LOGGER)
    assert access.may("User:a", "h", *READ_T)
    assert not access.known, "allowed accesses are logged"
    level.setLevel(logging.INFO)
    access.log_level_changed()
    assert not access.may("User:b", "h", *READ_T)
    assert access.known == {("User:a", "h", *READ_T): True, ("User:b", "h", *READ_T): False}
    index.replace({PATTERN: frozenset()})
    assert not access.known
    level.setLevel(logging.DEBUG)
    access.log_level_changed()
    access.may("User:a", "h", *READ_T)
    assert not access.known


def test_quiet_refusal_is_for_debugging_only(access: Access, caplog: pytest.LogCaptureFixture) -> None:
    assert access.may("User:a", "h", *READ_T, is_quiet=True)
    assert not access.may("User:b", "h", *READ_T, is_quiet=True)
    assert [record.levelno for record in caplog.records] == [logging.DEBUG, TRACE]


def test_question_about_any_resource_is_answered_and_logged(access: Access, caplog: pytest.LogCaptureFixture) -> None:
    assert access.may_by_resource_type("User:a", "h", AclOperation.READ, AclResourceType.TOPIC)
    assert not access.may_by_resource_type(
        "User:a", "h", AclOperation.WRITE, AclResourceType.TOPIC, api_key=ApiKey.PRODUCE
    )
    assert caplog.messages[1] == (
        "Principal = User:a is Denied Operation = Write from host = h on resource = Topic:UNKNOWN:NONE "
        "for request = Produce with resourceRefCount = 0"
    )


def test_host_is_compared_in_the_form_of_java() -> None:
    entry = ENTRY._replace(host="0:0:0:0:0:0:0:1")
    access = Access(AclAuthorizer(AclIndex(by_pattern([AclBinding(PATTERN, entry)]))), AuthorizerLog(lambda: 0.0))
    assert access.may("User:a", "::1", *READ_T)
    assert access.may_by_resource_type("User:a", "::1", AclOperation.READ, AclResourceType.TOPIC)
    assert not access.may("User:a", "::2", *READ_T)
