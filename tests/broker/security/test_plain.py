"""Tests of the broker's side of PLAIN."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security.principal import Principal
from pybroker.broker.security.sasl.plain import PlainServer, PlainUsers
from pybroker.broker.security.sasl.sasl_server import Challenge, Login, LoginFailedError
from pybroker.protocol.client.sasl import Credentials, SaslLogin, sasl_messages

NAMES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1)
USERS = PlainUsers({"alice": "secret", "ü": "½"})


def evaluate(message: bytes, users: PlainUsers = USERS) -> Challenge:
    return PlainServer(users).evaluate(message, 0)


@given(NAMES, NAMES)
def test_user_with_its_password_logs_in(user: str, password: str) -> None:
    message = next(sasl_messages(SaslLogin(Credentials("PLAIN", user, password), "")))
    users = PlainUsers({user: password, "other": "word"})
    assert evaluate(message, users) == Challenge(b"", Login(Principal("User", user)))
    assert evaluate(user.encode() + message, users).login is not None


@given(NAMES)
def test_forged_authorization_id_is_refused(authorization_id: str) -> None:
    if authorization_id == "alice":
        return
    with pytest.raises(LoginFailedError) as error:
        evaluate(authorization_id.encode() + b"\0alice\0secret")
    assert error.value.told == (
        "Authentication failed: Client requested an authorization id that is different from username"
    )


@pytest.mark.parametrize("message", [b"\0alice\0wrong", b"\0bob\0secret", b"\0alice\0secre", "\0alice\0½".encode()])
def test_unknown_user_and_wrong_password_have_the_same_text_for_the_client(message: bytes) -> None:
    with pytest.raises(LoginFailedError) as error:
        evaluate(message)
    assert error.value.told == "Authentication failed: Invalid username or password"


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (b"", "has 3 parts, not 1"),
        (b"\0alice", "has 3 parts, not 2"),
        (b"\0alice\0secret\0", "has 3 parts, not 4"),
        (b"\0\0secret", "the user name is empty"),
        (b"\0alice\0", "the password is empty"),
        (b"\0\xff\0secret", "not UTF-8"),
    ],
)
def test_malformed_message_is_refused(message: bytes, reason: str) -> None:
    with pytest.raises(LoginFailedError, match=reason) as error:
        evaluate(message)
    assert error.value.told is None


@given(st.binary(max_size=40))
def test_no_other_message_logs_in(message: bytes) -> None:
    with pytest.raises(LoginFailedError) as error:
        evaluate(message)
    assert "secret" not in error.value.reason


def test_passwords_are_not_kept() -> None:
    assert "secret" not in repr(vars(USERS))


def test_name_with_line_breaks_stays_on_one_line_of_the_log() -> None:
    with pytest.raises(LoginFailedError) as error:
        evaluate(b"\0a\nERROR b\0x")
    assert "\n" not in error.value.reason


def test_long_name_is_cut_in_the_log() -> None:
    with pytest.raises(LoginFailedError) as error:
        evaluate(b"\0" + b"x" * 100_000 + b"\0y")
    assert len(error.value.reason) < 200
