"""AlterUserScramCredentials and DescribeUserScramCredentials store and show credentials in the metadata tree."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.broker.apis.security.alter_user_scram_credentials import AlterUserScramCredentials
from pybroker.broker.apis.security.describe_user_scram_credentials import DescribeUserScramCredentials
from pybroker.broker.security.sasl.scram_credential import ScramCredential
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from pybroker.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from pybroker.protocol.scram import SCRAM_MECHANISMS
from support.in_process.embedded_tree import embedded_tree
from support.in_process.group_handlers import call

SHA_256 = SCRAM_MECHANISMS["SCRAM-SHA-256"]
SALTED = SHA_256.salted_password("canary secret", b"salt", 4096)


@pytest.fixture
async def tree(tmp_path: Path) -> AsyncIterator[ClusterTree]:
    async with embedded_tree(tmp_path) as tree:
        yield tree


async def at_once() -> None:
    """Nothing reads the changes."""


def new(user: str, mechanism: int = 1, iterations: int = 4096) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=SALTED
    )


def old(user: str, mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


async def alter(
    tree: ClusterTree, *entries: ScramCredentialDeletion | ScramCredentialUpsertion, is_controller: bool = True
) -> dict[str, int]:
    handler = AlterUserScramCredentials(tree, lambda: is_controller, at_once)
    request = AlterUserScramCredentialsRequest(
        deletions=[each for each in entries if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in entries if isinstance(each, ScramCredentialUpsertion)],
    )
    return {result.user: result.error_code for result in (await call(handler, 0, request)).results}


async def described(tree: ClusterTree, *users: str) -> dict[str, object]:
    request = DescribeUserScramCredentialsRequest(users=[UserName(name=user) for user in users])
    response = await call(DescribeUserScramCredentials(tree), 0, request)
    assert response.error_code == ErrorCode.NONE
    return {
        result.user: result.error_code or {each.mechanism: each.iterations for each in result.credential_infos}
        for result in response.results
    }


async def test_a_stored_credential_has_kafkas_form_and_is_described_without_its_keys(tree: ClusterTree) -> None:
    assert await alter(tree, new("ann/é"), new("ann/é", mechanism=2, iterations=16384)) == {"ann/é": 0}
    stored = await tree.config("users", "ann%2F%C3%A9")
    assert ScramCredential.decode(SHA_256, stored["SCRAM-SHA-256"]) == ScramCredential.of_password(
        SHA_256, "canary secret", b"salt", 4096
    )
    assert await described(tree) == await described(tree, "ann/é") == {"ann/é": {1: 4096, 2: 16384}}


async def test_a_deleted_credential_leaves_the_users_other_settings(tree: ClusterTree) -> None:
    await tree.change_config("users", "bob", lambda _: {"producer_byte_rate": "1"})
    assert await alter(tree, new("bob")) == {"bob": 0}
    assert await alter(tree, old("bob")) == {"bob": 0}
    assert await tree.config("users", "bob") == {"producer_byte_rate": "1"}
    assert await described(tree) == {}
    assert await described(tree, "bob") == {"bob": ErrorCode.RESOURCE_NOT_FOUND}


async def test_an_invalid_entry_fails_only_its_own_user(tree: ClusterTree) -> None:
    codes = await alter(
        tree, old("nobody"), old("twice"), new("twice"), new("weak", iterations=4095), new("odd", 7), new("fine")
    )
    assert codes == {
        "nobody": ErrorCode.RESOURCE_NOT_FOUND,
        "twice": ErrorCode.DUPLICATE_RESOURCE,
        "weak": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "odd": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "fine": ErrorCode.NONE,
    }
    assert await described(tree) == {"fine": {1: 4096}}


async def test_a_broker_that_is_not_the_controller_stores_nothing(tree: ClusterTree) -> None:
    codes = await alter(tree, old("ann"), new("bob"), is_controller=False)
    assert codes == dict.fromkeys(("ann", "bob"), ErrorCode.NOT_CONTROLLER)
    assert await described(tree) == {}


async def test_a_name_that_is_no_node_is_refused_and_others_are_stored(tree: ClusterTree) -> None:
    assert await alter(tree, new(".."), old("."), new("bob")) == {
        "..": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        ".": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "bob": ErrorCode.NONE,
    }
    assert await described(tree, "..", "bob") == {"..": ErrorCode.RESOURCE_NOT_FOUND, "bob": {1: 4096}}


async def test_users_named_twice_or_not_there_get_errors(tree: ClusterTree) -> None:
    await alter(tree, new("ann"))
    assert await described(tree, "ann", "bob", "", "bob2", "bob2") == {
        "ann": {1: 4096},
        "bob": ErrorCode.RESOURCE_NOT_FOUND,
        "": ErrorCode.RESOURCE_NOT_FOUND,
        "bob2": ErrorCode.DUPLICATE_RESOURCE,
    }


async def test_writers_of_the_same_user_do_not_lose_each_others_credentials(tree: ClusterTree) -> None:
    await asyncio.gather(alter(tree, new("ann")), alter(tree, new("ann", mechanism=2)))
    assert await described(tree) == {"ann": {1: 4096, 2: 4096}}
