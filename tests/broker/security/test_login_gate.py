"""Tests of the login gate: which requests each state takes, answers, failures, and sessions that end."""

import re

import pytest
from pybroker.broker.security.login_actions import Action, Admission, Answer, Authenticated, Close, PassOn
from pybroker.broker.security.login_gate import session_lifetime_ms
from pybroker.broker.security.principal import Principal
from pybroker.broker.security.sasl.sasl_server import Challenge, Login
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.client.sasl import Credentials, SaslLogin, sasl_messages
from pybroker.protocol.codec import encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.headers import RequestHeader
from support.security.gate_driver import (
    ALICE,
    DELAY_MS,
    MAX_RECEIVE_BYTES,
    PLAIN_TOKEN,
    Driver,
    answer,
    api_versions,
    handshake,
    token,
)

BOB_TOKEN, WRONG_TOKEN = b"\0bob\0word", b"\0alice\0wrong"


def the_close(actions: tuple[Action, ...]) -> Close:
    (action,) = actions
    assert isinstance(action, Close)
    return action


def test_client_logs_in_by_framed_tokens() -> None:
    driver = Driver()
    assert driver.send(api_versions()) == (PassOn(),)
    assert driver.gate.max_frame_bytes == MAX_RECEIVE_BYTES
    response, known = driver.log_in()
    assert (response.error_code, response.error_message, response.auth_bytes) == (0, "", b"")
    assert response.session_lifetime_ms == 0
    assert known == Authenticated(ALICE, "PLAIN", None)
    assert driver.gate.is_open
    assert driver.gate.max_frame_bytes is None


def test_handshake_lists_the_mechanisms() -> None:
    response = Driver().shake("PLAIN")
    assert (response.error_code, response.mechanisms) == (0, ["PLAIN", "SCRAM-SHA-256", "TOKEN"])


def test_client_logs_in_by_raw_tokens_after_handshake_v0() -> None:
    driver = Driver()
    driver.shake("PLAIN", version=0)
    assert driver.send(PLAIN_TOKEN) == (Answer(b""), Authenticated(ALICE, "PLAIN", None))


def test_scram_login_takes_two_requests() -> None:
    driver = Driver()
    driver.shake("SCRAM-SHA-256")
    messages = sasl_messages(SaslLogin(Credentials("SCRAM-SHA-256", "alice", "secret"), "x"))
    (first,) = driver.send(token(next(messages), version=0))
    assert isinstance(first, Answer)
    assert not driver.gate.is_open
    challenge = bytes(answer(first.frame, ApiKey.SASL_AUTHENTICATE, 0).auth_bytes)
    _, known = driver.send(token(messages.send(challenge), version=0))
    assert known == Authenticated(ALICE, "SCRAM-SHA-256", None)


def bare_request(key: ApiKey, version: int) -> bytes:
    """A request with a header alone: no body can be decoded from it."""
    header = RequestHeader(request_api_key=key, request_api_version=version, correlation_id=7)
    return encode(header, API_SPECS[key].request_header_version(version))


TAKEN_FIRST = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE}


@pytest.mark.parametrize("key", ApiKey)
def test_each_state_before_the_login_takes_only_its_own_apis(key: ApiKey) -> None:
    frame = bare_request(key, API_SPECS[key].max_version)
    after_versions, after_handshake = Driver(), Driver()
    after_versions.send(api_versions())
    after_handshake.shake("PLAIN")
    takers = {"first": Driver(), "after versions": after_versions, "after handshake": after_handshake}
    closes = {name: the_close(driver.send(frame)) for name, driver in takers.items()}
    refused = {name for name, close in closes.items() if re.search("expected|before a login", close.reason)}
    expected = {
        "first": key in TAKEN_FIRST,
        "after versions": key is ApiKey.SASL_HANDSHAKE,
        "after handshake": key is ApiKey.SASL_AUTHENTICATE,
    }
    assert refused == {name for name, is_taken in expected.items() if not is_taken}
    assert all(close.frame is None for close in closes.values())


def test_client_that_does_not_log_in_is_told_apart_and_its_api_is_named() -> None:
    after_versions, versions_again = Driver(), Driver()
    after_versions.send(api_versions())
    versions_again.send(api_versions())
    for driver in (Driver(), after_versions):
        reason = the_close(driver.send(bare_request(ApiKey.METADATA, 1))).reason
        assert reason.startswith("Metadata came before a login: set security.protocol")
    assert the_close(versions_again.send(api_versions())).reason == "ApiVersions came; expected SaslHandshake"


@pytest.mark.parametrize(
    "frame", [b"", b"\0\x12", b"\x60\x82\x01\x00rest of a GSSAPI token", b"GET / HTTP/1.1\r\n\r\n"]
)
def test_bytes_that_are_no_request_close_the_connection(frame: bytes) -> None:
    assert "expected ApiVersions or SaslHandshake" in the_close(Driver().send(frame)).reason


def test_client_may_repeat_api_versions_until_it_was_answered() -> None:
    driver = Driver()
    unknown_version = bare_request(ApiKey.API_VERSIONS, 3)[:2] + b"\0\x63" + api_versions()[4:]
    for refused in (unknown_version, api_versions(name="not a name!"), api_versions()):
        assert driver.send(refused) == (PassOn(),)
    assert "expected SaslHandshake" in the_close(driver.send(api_versions())).reason


def test_unserved_version_closes_the_connection() -> None:
    for frame in (bare_request(ApiKey.SASL_HANDSHAKE, 1)[:2] + b"\0\x02", handshake("PLAIN")[:2] + b"\xff\xff"):
        assert "not served" in the_close(Driver().send(frame + bytes(20))).reason


def test_mechanism_that_is_not_enabled_is_answered_after_a_delay() -> None:
    close = the_close(Driver().send(handshake("GSSAPI")))
    assert close.delay_ms == DELAY_MS
    assert close.frame is not None
    response = answer(close.frame, ApiKey.SASL_HANDSHAKE, 1)
    assert response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert response.mechanisms == ["PLAIN", "SCRAM-SHA-256", "TOKEN"]


def test_wrong_password_is_answered_after_a_delay() -> None:
    driver = Driver()
    driver.shake("PLAIN")
    close = the_close(driver.send(token(WRONG_TOKEN)))
    assert close.delay_ms == DELAY_MS
    assert close.frame is not None
    response = answer(close.frame, ApiKey.SASL_AUTHENTICATE, 2)
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert response.error_message == "Authentication failed: Invalid username or password"
    assert "'alice'" in close.reason
    assert "wrong" not in repr(close).replace("wrong user or password", "")


def test_failure_without_a_text_of_its_own_has_kafkas_common_text() -> None:
    driver = Driver()
    driver.shake("SCRAM-SHA-256")
    close = the_close(driver.send(token(b"nonsense")))
    assert close.frame is not None
    assert answer(close.frame, ApiKey.SASL_AUTHENTICATE, 2).error_message == (
        "Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-256"
    )


def test_failure_of_a_raw_token_has_no_answer() -> None:
    driver = Driver()
    driver.shake("PLAIN", version=0)
    close = the_close(driver.send(WRONG_TOKEN))
    assert (close.delay_ms, close.frame) == (DELAY_MS, None)


@pytest.mark.parametrize("cut", range(len(token(PLAIN_TOKEN))))
def test_request_cut_anywhere_does_not_log_in(cut: int) -> None:
    driver = Driver()
    driver.shake("PLAIN")
    assert the_close(driver.send(token(PLAIN_TOKEN)[:cut])).frame is None


def test_nothing_is_answered_after_the_end() -> None:
    driver = Driver()
    driver.send(handshake("GSSAPI"))
    assert the_close(driver.send(api_versions())) == Close("a frame came after the end")


# -- sessions that end (KIP-368)


@pytest.mark.parametrize(
    ("max_reauth_ms", "expires_at_ms", "expected"),
    [
        (0, None, None),
        (-1, None, None),
        (500, None, 500),
        (0, 1_000_300, 300),
        (500, 1_000_300, 300),
        (200, 1_000_300, 200),
        (0, 1_000_000, 1),
        (500, 999_000, 1),
    ],
)
def test_lifetime_is_the_shorter_of_setting_and_credential(
    max_reauth_ms: int, expires_at_ms: int | None, expected: int | None
) -> None:
    assert session_lifetime_ms(max_reauth_ms, expires_at_ms, 1_000_000) == expected


def test_session_ends_with_the_credential() -> None:
    driver = Driver(max_reauth_ms=500)
    response, known = driver.log_in(b"1000300", "TOKEN")
    assert response.session_lifetime_ms == 300
    assert known == Authenticated(ALICE, "TOKEN", driver.now_ms + 300)
    driver.advance(300)
    assert driver.gate.admit(ApiKey.FETCH, driver.now_ms) is Admission.DISPATCH
    driver.advance(1)
    assert driver.gate.admit(ApiKey.FETCH, driver.now_ms) is Admission.CLOSE
    assert driver.gate.admit(ApiKey.SASL_HANDSHAKE, driver.now_ms) is Admission.LOG_IN_AGAIN


def test_expired_credential_does_not_give_a_session_without_end() -> None:
    """KAFKA-13848: a lifetime of 0 would tell the client that the session never ends."""
    driver = Driver()
    response, _ = driver.log_in(b"999000", "TOKEN")
    assert response.session_lifetime_ms == 1
    driver.advance(2)
    assert driver.gate.admit(ApiKey.FETCH, driver.now_ms) is Admission.CLOSE


def test_session_without_end_sends_handshakes_to_the_dispatcher() -> None:
    driver = Driver()
    driver.log_in()
    driver.advance(10**9)
    for key in ApiKey:
        assert driver.gate.admit(key, driver.now_ms) is Admission.DISPATCH


def test_client_logs_in_again_and_the_session_goes_on() -> None:
    driver = Driver(max_reauth_ms=5000)
    driver.log_in()
    driver.advance(4500)
    assert driver.gate.admit(ApiKey.SASL_HANDSHAKE, driver.now_ms) is Admission.LOG_IN_AGAIN
    driver.shake("PLAIN")
    assert not driver.gate.is_open
    assert driver.gate.max_frame_bytes == MAX_RECEIVE_BYTES
    _, known = driver.send(token(PLAIN_TOKEN))
    assert known == Authenticated(ALICE, "PLAIN", driver.now_ms + 5000)
    driver.advance(4999)
    assert driver.gate.admit(ApiKey.FETCH, driver.now_ms) is Admission.DISPATCH


def test_client_logs_in_again_at_most_once_a_second() -> None:
    driver = Driver(max_reauth_ms=5000)
    driver.log_in()
    driver.log_in()
    driver.advance(999)
    assert driver.gate.admit(ApiKey.SASL_HANDSHAKE, driver.now_ms) is Admission.DISPATCH
    driver.advance(1)
    assert driver.gate.admit(ApiKey.SASL_HANDSHAKE, driver.now_ms) is Admission.LOG_IN_AGAIN


def test_principal_may_not_change() -> None:
    driver = Driver(max_reauth_ms=5000)
    driver.log_in()
    driver.shake("PLAIN")
    close = the_close(driver.send(token(BOB_TOKEN)))
    assert close.frame is not None
    assert close.delay_ms == DELAY_MS
    assert answer(close.frame, ApiKey.SASL_AUTHENTICATE, 2).error_message == (
        "Cannot change principals during re-authentication from User.alice: User.bob"
    )
    assert not driver.gate.is_open


def test_answer_to_a_changed_principal_cuts_long_names_and_replaces_what_utf_8_lacks() -> None:
    driver = Driver(max_reauth_ms=5000)
    driver.log_in()
    driver.shake("PLAIN")
    other = Login(Principal("User", "\ud800" + "b" * 40_000))
    assert driver.gate._server is not None
    driver.gate._server.evaluate = lambda message, now_ms: Challenge(b"", other)  # type: ignore[method-assign]
    close = the_close(driver.send(token(BOB_TOKEN)))
    assert close.frame is not None
    message = answer(close.frame, ApiKey.SASL_AUTHENTICATE, 2).error_message
    assert message.endswith(f"from User.alice: User.?{'b' * 99}…")


def test_mechanism_may_not_change() -> None:
    driver = Driver(max_reauth_ms=5000)
    driver.log_in()
    assert driver.shake("TOKEN").error_code == 0
    close = the_close(driver.send(token(b"2000000")))
    assert (close.delay_ms, close.frame) == (DELAY_MS, None)


def test_failed_second_login_closes_the_connection() -> None:
    driver = Driver(max_reauth_ms=5000)
    driver.log_in()
    driver.shake("PLAIN")
    close = the_close(driver.send(token(b"\0alice")))
    assert close.frame is not None
    assert answer(close.frame, ApiKey.SASL_AUTHENTICATE, 2).error_message == (
        "Authentication failed during re-authentication due to invalid credentials with SASL mechanism PLAIN"
    )


@pytest.mark.parametrize("key", [key for key in ApiKey if key is not ApiKey.SASL_AUTHENTICATE])
def test_other_requests_during_a_second_login_close_the_connection(key: ApiKey) -> None:
    driver = Driver(max_reauth_ms=5000)
    driver.log_in()
    driver.shake("PLAIN")
    assert "expected SaslAuthenticate" in the_close(driver.send(bare_request(key, 0))).reason


def test_second_login_begins_only_with_a_handshake() -> None:
    driver = Driver(max_reauth_ms=5000)
    driver.log_in()
    assert "came; expected" in the_close(driver.send(api_versions())).reason


def test_principal_of_a_login_has_the_type_user() -> None:
    _, known = Driver().log_in(BOB_TOKEN)
    assert known.principal == Principal("User", "bob")
