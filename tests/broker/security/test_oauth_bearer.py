"""Tests of OAUTHBEARER: its messages, and unsecured tokens."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security.principal import Principal
from pybroker.broker.security.sasl.oauth_bearer import MOST_MESSAGE_BYTES, OAuthBearerServer, ValidToken
from pybroker.broker.security.sasl.sasl_server import Challenge, Login, LoginFailedError
from pybroker.broker.security.sasl.unsecured_tokens import UnsecuredTokens
from pybroker.client.oauth.token_text import InvalidTokenError
from pybroker.protocol.client.sasl import BearerToken, SaslLogin, sasl_messages
from support.security.tokens import NOW_MS, NOW_S, claims_with, encoded

# -- messages


class OneToken:
    def validate(self, token: str, now_ms: int) -> ValidToken:
        if token != "good":
            raise InvalidTokenError("unknown")
        return ValidToken("alice", NOW_MS + 1000)


def test_token_of_our_client_logs_in_until_it_expires() -> None:
    message = next(sasl_messages(SaslLogin(BearerToken("good"), "")))
    login = Login(Principal("User", "alice"), NOW_MS + 1000)
    assert OAuthBearerServer(OneToken()).evaluate(message, NOW_MS) == Challenge(b"", login)


def test_refused_token_fails_after_the_client_acknowledged_it() -> None:
    server = OAuthBearerServer(OneToken())
    assert server.evaluate(b"n,,\x01auth=Bearer bad\x01\x01", 0) == Challenge(b'{"status":"invalid_token"}')
    with pytest.raises(LoginFailedError, match="unknown") as error:
        server.evaluate(b"\x01", 0)
    assert error.value.told == '{"status":"invalid_token"}'


def test_second_token_is_not_tried() -> None:
    server = OAuthBearerServer(OneToken())
    server.evaluate(b"n,,\x01auth=Bearer bad\x01\x01", 0)
    with pytest.raises(LoginFailedError) as error:
        server.evaluate(b"n,,\x01auth=Bearer good\x01\x01", 0)
    assert error.value.told is None


def test_missing_scope_is_named_to_the_client() -> None:
    assert InvalidTokenError("", 'a "b"').status == '{"status":"insufficient_scope", "scope":"a \\"b\\""}'


def test_message_over_the_limit_is_refused_before_its_token_is_looked_at() -> None:
    head, tail = b"n,,\x01auth=Bearer ", b"\x01\x01"
    longest = head + b"x" * (MOST_MESSAGE_BYTES - len(head + tail)) + tail
    assert OAuthBearerServer(OneToken()).evaluate(longest, 0).message == b'{"status":"invalid_token"}'
    with pytest.raises(LoginFailedError, match="more than 65536 bytes"):
        OAuthBearerServer(OneToken()).evaluate(head + b"x" + longest[len(head) :], 0)


@given(st.text(st.characters(min_codepoint=1, max_codepoint=127), min_size=1))
def test_forged_authorization_id_is_refused(authorization_id: str) -> None:
    escaped = authorization_id.replace("=", "=3D").replace(",", "=2C")
    message = f"n,a={escaped},\x01auth=Bearer good\x01\x01".encode()
    if authorization_id == "alice":
        assert OAuthBearerServer(OneToken()).evaluate(message, 0).login is not None
        return
    with pytest.raises(LoginFailedError, match="wants to act as"):
        OAuthBearerServer(OneToken()).evaluate(message, 0)


def test_extensions_are_ignored() -> None:
    message = b"n,,\x01cluster=lkc 1\x01auth=bearer  good\x01x=y\x01\x01"
    assert OAuthBearerServer(OneToken()).evaluate(message, 0).login is not None


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,",
        b"n,,\x01\x01",
        b"n,,\x01auth=Basic good\x01\x01",
        b"n,,\x01auth=Bearer\x01\x01",
        b"n,,\x01auth=Bearer good bad\x01\x01",
        b"n,,\x01auth=Bearer good\x01",
        b"n,,\x01auth=Bearer g\xfcod\x01\x01",
        b"n,,\x01AUTH=Bearer good\x01\x01",
        b"n,,\x01auth=Bearer good\x01x1=y\x01\x01",
        b"y,,\x01auth=Bearer good\x01\x01",
    ],
)
def test_malformed_first_message_is_refused(message: bytes) -> None:
    with pytest.raises(LoginFailedError, match="the client's first message"):
        OAuthBearerServer(OneToken()).evaluate(message, 0)


def test_refusal_of_an_authorization_id_cuts_long_names() -> None:
    message = b"n,a=" + b"a" * 40_000 + b",\x01auth=Bearer good\x01\x01"
    with pytest.raises(LoginFailedError) as error:
        OAuthBearerServer(OneToken()).evaluate(message, 0)
    assert f"({'a' * 100}…) that is different" in str(error.value.told)


# -- unsecured tokens


def unsecured(signature: str = "", algorithm: object = "none", **claims: Any) -> str:
    payload = claims_with(claims)
    return f"{encoded({'alg': algorithm})}.{encoded(payload)}.{signature}"


def test_unsecured_token_names_the_user() -> None:
    assert UnsecuredTokens().validate(unsecured(), NOW_MS) == ValidToken("alice", (NOW_S + 60) * 1000)


@pytest.mark.parametrize(
    "token",
    [
        "",
        "a.b",
        unsecured("c2ln"),
        unsecured(algorithm="HS256"),
        unsecured(exp=None),
        unsecured(exp=NOW_S),
        unsecured(iat=NOW_S + 1),
        unsecured(iat=NOW_S + 70, exp=NOW_S + 60),
        unsecured(sub=None),
        unsecured(sub=" "),
        unsecured(sub="\ud800"),
        "?.?.",
        f"{encoded([])}.{encoded([])}.",
    ],
)
def test_wrong_unsecured_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidTokenError):
        UnsecuredTokens().validate(token, NOW_MS)


def test_options_of_the_login_module_set_the_rules_of_unsecured_tokens() -> None:
    options = {
        "unsecuredValidatorPrincipalClaimName": "name",
        "unsecuredValidatorScopeClaimName": "groups",
        "unsecuredValidatorRequiredScope": "a b",
        "unsecuredValidatorAllowableClockSkewMs": "3000",
        "unsecuredLoginStringClaim_sub": "x",
    }
    validator = UnsecuredTokens.from_options(options)
    assert validator.validate(unsecured(name="bob", groups=["a", "b", "c"], exp=NOW_S - 2), NOW_MS).user == "bob"
    with pytest.raises(InvalidTokenError) as error:
        validator.validate(unsecured(name="bob", groups=["a"]), NOW_MS)
    assert error.value.scope == "a b"
    with pytest.raises(ValueError, match="AllowableClockSkewMs"):
        UnsecuredTokens.from_options({"unsecuredValidatorAllowableClockSkewMs": "-1"})
