"""APIs of features that are not built are refused, or answered like a Kafka broker with the feature off."""

from typing import Any

import pytest
from pybroker.broker.requests.failures import failure_response
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import (
    ErrorCode,
    KafkaError,
)
from pybroker.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from support.in_process.group_handlers import call, versions
from support.in_process.served_apis import error_codes, handler_table, with_one_of_each

NO_TOKENS = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED

HANDLERS = handler_table({"group.coordinator.rebalance.protocols": "classic"})

REFUSED: dict[ApiKey, ErrorCode] = {
    ApiKey.SASL_HANDSHAKE: ErrorCode.ILLEGAL_SASL_STATE,
    ApiKey.SASL_AUTHENTICATE: ErrorCode.ILLEGAL_SASL_STATE,
    ApiKey.DESCRIBE_ACLS: ErrorCode.SECURITY_DISABLED,
    ApiKey.CREATE_ACLS: ErrorCode.SECURITY_DISABLED,
    ApiKey.DELETE_ACLS: ErrorCode.SECURITY_DISABLED,
    ApiKey.CREATE_DELEGATION_TOKEN: NO_TOKENS,
    ApiKey.RENEW_DELEGATION_TOKEN: NO_TOKENS,
    ApiKey.EXPIRE_DELEGATION_TOKEN: NO_TOKENS,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: NO_TOKENS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: ErrorCode.UNSUPPORTED_VERSION,
    ApiKey.CONSUMER_GROUP_DESCRIBE: ErrorCode.UNSUPPORTED_VERSION,
}


async def answer(key: ApiKey, version: int, request: Any = None) -> Any:
    """The response, also when the handler raises the error."""
    request = request or with_one_of_each(API_SPECS[key].request_type(), version)
    try:
        return await call(HANDLERS[key], version, request)
    except KafkaError as error:
        response = failure_response(key, version, request, error)
        return decode(type(response), encode(response, version), version)


@pytest.mark.parametrize(
    ("key", "version"), [(key, version) for key in REFUSED for version in versions(key)], ids=lambda value: str(value)
)
async def test_every_version_of_a_refused_api_returns_its_error_code(key: ApiKey, version: int) -> None:
    response = await answer(key, version)
    codes = list(error_codes(response, version))
    assert codes
    assert set(codes) == {REFUSED[key]}


async def test_refused_apis_have_the_error_messages_of_kafka() -> None:
    assert (await answer(ApiKey.DESCRIBE_ACLS, 3)).error_message == "No Authorizer is configured on the broker"
    assert (await answer(ApiKey.CREATE_ACLS, 3)).results[0].error_message == "No Authorizer is configured."
    assert (await answer(ApiKey.SASL_HANDSHAKE, 1)).mechanisms == []


@pytest.mark.parametrize("version", versions(ApiKey.CREATE_DELEGATION_TOKEN))
async def test_a_refused_delegation_token_names_its_owner_and_requester(version: int) -> None:
    response = await answer(ApiKey.CREATE_DELEGATION_TOKEN, version)
    assert (response.principal_type, response.principal_name) == ("User", "ANONYMOUS")
    assert (response.issue_timestamp_ms, response.token_id, response.hmac) == (-1, "", b"")
    requester = (response.token_requester_principal_type, response.token_requester_principal_name)
    assert requester == (("User", "ANONYMOUS") if version >= 3 else ("", ""))


async def test_a_refused_delegation_token_names_another_owner_when_requested() -> None:
    request = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="ann")
    response = await answer(ApiKey.CREATE_DELEGATION_TOKEN, 3, request)
    assert (response.principal_name, response.token_requester_principal_name) == ("ann", "ANONYMOUS")
