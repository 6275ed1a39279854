"""Tests of the client's side of PLAIN, SCRAM and OAUTHBEARER."""

from base64 import b64decode

import pytest
from pybroker.protocol.client.errors import SaslError
from pybroker.protocol.client.sasl import BearerToken, Credentials, SaslLogin, sasl_messages

PENCIL = Credentials("SCRAM-SHA-256", "user", "pencil")
NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_plain_sends_user_and_password_in_one_message() -> None:
    steps = sasl_messages(SaslLogin(Credentials("PLAIN", "ü", "p"), "n"))
    assert next(steps) == "\0ü\0p".encode()
    with pytest.raises(StopIteration):
        steps.send(b"")


def test_scram_as_in_the_example_of_rfc_7677() -> None:
    steps = sasl_messages(SaslLogin(PENCIL, NONCE))
    assert next(steps) == b"n,,n=user,r=" + NONCE.encode()
    assert steps.send(SERVER_FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    with pytest.raises(StopIteration):
        steps.send(SERVER_FINAL)


def test_scram_escapes_equals_signs_and_commas_in_the_user_name() -> None:
    assert next(sasl_messages(SaslLogin(Credentials("SCRAM-SHA-512", "a=b,c", "p"), "n"))) == b"n,,n=a=3Db=2Cc,r=n"


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (b"r=other,s=W22Z,i=4096", "nonce"),
        (b"r=rOprNGfwEbeRWgbNEkqO,s=W22Z,i=4096", "nonce"),
        (SERVER_FIRST.replace(b"4096", b"1"), "1 iterations"),
        (SERVER_FIRST.replace(b"4096", b"99999999999"), "iterations"),
        (SERVER_FIRST.replace(b"4096", "²".encode()), "iterations"),
        (SERVER_FIRST.replace(b"4096", b"9" * 5000), "iterations"),
        (SERVER_FIRST.replace(b"s=W", b"s=?"), "base64"),
        (b"\xff", "not UTF-8"),
        (b"", "nonce"),
    ],
)
def test_malformed_reply_of_the_broker_is_a_sasl_error(reply: bytes, says: str) -> None:
    steps = sasl_messages(SaslLogin(PENCIL, NONCE))
    next(steps)
    with pytest.raises(SaslError, match=says):
        steps.send(reply)


def test_more_iterations_than_the_login_allows_are_refused() -> None:
    steps = sasl_messages(SaslLogin(PENCIL, NONCE, most_iterations=16384))
    next(steps)
    with pytest.raises(SaslError, match="the broker asks for 16385 iterations, not 4096 to 16384"):
        steps.send(SERVER_FIRST.replace(b"4096", b"16385"))


def test_broker_that_does_not_know_the_password_is_refused() -> None:
    steps = sasl_messages(SaslLogin(PENCIL, NONCE))
    next(steps)
    steps.send(SERVER_FIRST)
    assert len(b64decode(SERVER_FINAL[2:])) == 32
    with pytest.raises(SaslError, match="does not prove that it knows the password"):
        steps.send(SERVER_FINAL.replace(b"6rri", b"7rri"))


def test_oauth_bearer_sends_the_token_in_one_message() -> None:
    login = SaslLogin(BearerToken("e30.secret.c2ln"), "")
    assert login.credentials.mechanism == "OAUTHBEARER"
    assert "secret" not in repr(login)
    steps = sasl_messages(login)
    assert next(steps) == b"n,,\x01auth=Bearer e30.secret.c2ln\x01\x01"
    with pytest.raises(StopIteration):
        steps.send(b"")


def test_oauth_bearer_sends_extensions_behind_the_token() -> None:
    token = BearerToken("e30.e30.c2ln", (("traceId", "secret"), ("b", "2")))
    assert "secret" not in repr(token)
    steps = sasl_messages(SaslLogin(token, ""))
    assert next(steps) == b"n,,\x01auth=Bearer e30.e30.c2ln\x01traceId=secret\x01b=2\x01\x01"


def test_oauth_bearer_ends_the_exchange_when_the_broker_refuses_the_token() -> None:
    steps = sasl_messages(SaslLogin(BearerToken("e30.e30.c2ln"), ""))
    next(steps)
    assert steps.send(b'{"status":"invalid_token"}') == b"\x01"
    with pytest.raises(SaslError, match="refuses the token"):
        steps.send(b"")
