"""Tests of the rules of AlterUserScramCredentials and DescribeUserScramCredentials (KIP-554)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security.sasl.scram_administration import (
    credentials_in,
    described_users,
    planned_changes,
    users_to_read,
)
from pybroker.broker.security.sasl.scram_credential import ScramCredential
from pybroker.protocol.errors import ErrorCode, KafkaStorageError
from pybroker.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from pybroker.protocol.scram import SCRAM_MECHANISMS

SHA_256, SHA_512 = SCRAM_MECHANISMS.values()
STORED = {("alice", SHA_256.name), ("bob", SHA_256.name), ("bob", SHA_512.name)}


def has_credential(user: str, mechanism: str) -> bool:
    return (user, mechanism) in STORED


SALTED = SHA_256.salted_password("secret", b"salt", 4096)


def new(
    user: str, mechanism: int = 1, iterations: int = 4096, salt: bytes = b"salt", salted_password: bytes = SALTED
) -> ScramCredentialUpsertion:
    return ScramCredentialUpsertion(
        name=user, mechanism=mechanism, iterations=iterations, salt=salt, salted_password=salted_password
    )


def old(user: str, mechanism: int = 1) -> ScramCredentialDeletion:
    return ScramCredentialDeletion(name=user, mechanism=mechanism)


def errors_of(*entries: ScramCredentialDeletion | ScramCredentialUpsertion) -> dict[str, tuple[int, str | None]]:
    request = AlterUserScramCredentialsRequest(
        deletions=[each for each in entries if isinstance(each, ScramCredentialDeletion)],
        upsertions=[each for each in entries if isinstance(each, ScramCredentialUpsertion)],
    )
    changes = planned_changes(request, has_credential)
    results = {result.user: (result.error_code, result.error_message) for result in changes.results({})}
    assert {user for user, (code, _) in results.items() if not code} == changes.settings.keys()
    assert results.keys() == {entry.name for entry in entries}
    return results


def test_stored_keys_are_those_of_the_password() -> None:
    changes = planned_changes(AlterUserScramCredentialsRequest(upsertions=[new("u")]), has_credential)
    text = changes.settings["u"][SHA_256.name]
    assert text == ScramCredential.of_password(SHA_256, "secret", b"salt", 4096).encode()
    assert "salt=" not in repr(changes)


@pytest.mark.parametrize(
    ("entry", "code", "message"),
    [
        (new(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (old(""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"),
        (new("u", mechanism=0), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (old("u", mechanism=3), ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism"),
        (new("u", iterations=4095), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
        (new("u", iterations=16385), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations"),
        (new("u", salt=b""), ErrorCode.UNACCEPTABLE_CREDENTIAL, "Salt and salted password must not be empty"),
        (
            new("u", salted_password=b""),
            ErrorCode.UNACCEPTABLE_CREDENTIAL,
            "Salt and salted password must not be empty",
        ),
        (
            old("alice", mechanism=2),
            ErrorCode.RESOURCE_NOT_FOUND,
            "Attempt to delete a user credential that does not exist",
        ),
    ],
)
def test_invalid_entry_is_refused_and_spoils_only_its_user(
    entry: ScramCredentialDeletion | ScramCredentialUpsertion, code: int, message: str
) -> None:
    errors = errors_of(entry, new("other"), old("bob"))
    assert errors == {entry.name: (code, message), "other": (0, ""), "bob": (0, "")}
    if entry.name:
        assert errors_of(new(entry.name, 1 if entry.mechanism == 2 else 2), entry)[entry.name][0] == code


def test_same_credential_twice_is_refused() -> None:
    twice = (ErrorCode.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
    assert errors_of(new("u"), new("u")) == {"u": twice}
    assert errors_of(new("alice"), old("alice")) == {"alice": twice}
    assert errors_of(new("alice", 2), old("alice", 1)) == {"alice": (0, "")}


def test_deletions_and_upsertions_of_a_user_are_one_change() -> None:
    request = AlterUserScramCredentialsRequest(deletions=[old("bob", 1)], upsertions=[new("bob", 2)])
    assert users_to_read(request) == ["bob"]
    (change,) = planned_changes(request, has_credential).settings.values()
    assert change[SHA_256.name] is None
    assert (change[SHA_512.name] or "").startswith("salt=")


def test_failed_write_is_the_error_of_its_user() -> None:
    changes = planned_changes(AlterUserScramCredentialsRequest(upsertions=[new("u"), new("v")]), has_credential)
    codes = {each.user: each.error_code for each in changes.results({"u": KafkaStorageError("full")})}
    assert codes == {"u": ErrorCode.KAFKA_STORAGE_ERROR, "v": 0}


def credential(iterations: int = 4096) -> ScramCredential:
    return ScramCredential.of_salted_password(SHA_256, b"x", b"salt", iterations)


def test_all_users_with_credentials_are_described_in_order() -> None:
    long = ScramCredential.of_salted_password(SHA_512, b"x", b"salt", 8192)
    stored = {
        "b": {SHA_256.name: credential()},
        "a": {SHA_512.name: long, SHA_256.name: credential()},
        "quota only": {},
    }
    nobody: list[str] = []
    for asked in (None, nobody):
        described = described_users(asked, stored)
        assert [each.user for each in described] == ["a", "b"]
        assert [(info.mechanism, info.iterations) for info in described[0].credential_infos] == [(1, 4096), (2, 8192)]


def test_named_users_are_described_or_get_an_error() -> None:
    stored = {"a": {SHA_256.name: credential()}, "quota only": {}}
    described = described_users(["a", "", "b", "c", "b", "quota only"], stored)
    assert [(each.user, each.error_code) for each in described] == [
        ("a", 0),
        ("", ErrorCode.RESOURCE_NOT_FOUND),
        ("b", ErrorCode.DUPLICATE_RESOURCE),
        ("c", ErrorCode.RESOURCE_NOT_FOUND),
        ("quota only", ErrorCode.RESOURCE_NOT_FOUND),
    ]


def test_malformed_credential_in_a_node_counts_as_missing_and_is_reported() -> None:
    reported: list[str] = []
    settings = {SHA_256.name: credential().encode(), SHA_512.name: "secret", "producer_byte_rate": "1"}
    found = credentials_in(settings, lambda mechanism, error: reported.append(mechanism.name))
    assert found == {SHA_256.name: credential()}
    assert reported == [SHA_512.name]


ENTRIES = st.lists(
    st.builds(new, st.sampled_from(["", "alice", "bob", "u"]), st.integers(0, 3), st.sampled_from([1, 4096, 20000]))
    | st.builds(old, st.sampled_from(["", "alice", "bob", "u"]), st.integers(0, 3))
)


@given(ENTRIES)
def test_each_user_of_a_request_has_exactly_one_result(
    entries: list[ScramCredentialDeletion | ScramCredentialUpsertion],
) -> None:
    errors_of(*entries)
