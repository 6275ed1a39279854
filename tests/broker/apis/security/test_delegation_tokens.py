"""Delegation tokens are refused with Kafka's codes, by listener and principal (KafkaApis.allowTokenRequests)."""

from collections.abc import Callable
from typing import Any

import pytest
from pybroker.base.acls import AclOperation, AclResourceType
from pybroker.broker.apis.security.delegation_tokens import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.requests.context import RequestContext
from pybroker.broker.security.principal import ANONYMOUS, Principal
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_delegation_token import CreatableRenewers, CreateDelegationTokenRequest
from pybroker.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from pybroker.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pybroker.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from support.in_process.authorized_broker import RecordingAuthorizer
from support.in_process.rights_table import Ask

ALICE = Principal("User", "alice")
DISABLED, NOT_ALLOWED = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
FOR_BOB = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="bob")
FOR_HERSELF = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="alice")
BY_A_GROUP = CreateDelegationTokenRequest(renewers=[CreatableRenewers(principal_type="Group", principal_name="g")])


def context_of(
    principal: Principal = ALICE, protocol: str = "SASL_SSL", authorizer: RecordingAuthorizer | None = None
) -> RequestContext:
    info = ConnectionInfo("L", protocol, ("here", 9092), ("there", 1))
    info.principal = principal
    return RequestContext(3, 0, None, info, 0, authorizer=authorizer)


@pytest.mark.parametrize(
    ("principal", "protocol", "code"),
    [
        (ANONYMOUS, "PLAINTEXT", NOT_ALLOWED),
        (ANONYMOUS, "SSL", NOT_ALLOWED),
        (ALICE, "SSL", DISABLED),
        (ALICE, "SASL_PLAINTEXT", DISABLED),
        (ALICE, "SASL_SSL", DISABLED),
    ],
)
def test_code_tells_whether_the_client_has_authenticated(principal: Principal, protocol: str, code: ErrorCode) -> None:
    context = context_of(principal, protocol)
    asked: list[tuple[Callable[[RequestContext, Any], Any], Message]] = [
        (create_delegation_token, CreateDelegationTokenRequest()),
        (renew_delegation_token, RenewDelegationTokenRequest()),
        (expire_delegation_token, ExpireDelegationTokenRequest()),
        (describe_delegation_token, DescribeDelegationTokenRequest()),
    ]
    assert [handler(context, request).error_code for handler, request in asked] == [code] * 4


@pytest.mark.parametrize(
    ("request_", "may", "code"),
    [
        (FOR_HERSELF, False, DISABLED),
        (FOR_BOB, False, ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED),
        (FOR_BOB, True, DISABLED),
        (BY_A_GROUP, False, ErrorCode.INVALID_PRINCIPAL_TYPE),
    ],
)
def test_token_for_another_owner_needs_the_right(
    request_: CreateDelegationTokenRequest, may: bool, code: ErrorCode
) -> None:
    authorizer = RecordingAuthorizer(set() if may else None)
    assert create_delegation_token(context_of(authorizer=authorizer), request_).error_code == code
    wanted = Ask(AclOperation.CREATE_TOKENS, AclResourceType.USER, "User:bob")
    assert authorizer.asked == ([wanted] if request_ is FOR_BOB else [])
