"""Tests of signed tokens: each algorithm, each forgery, each claim."""

import hashlib
import hmac
import json
import sys
from base64 import urlsafe_b64encode
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security.sasl.jwks import ALGORITHMS, EMPTY_KEY_SET, KeySet, parse_jwks
from pybroker.broker.security.sasl.oauth_bearer import ValidToken
from pybroker.broker.security.sasl.signed_tokens import SignedTokens
from pybroker.broker.security.sasl.token_claims import TokenRules, checked_claims
from pybroker.client.oauth.token_text import InvalidTokenError
from pybroker.config.config_error import ConfigError
from support.security.tokens import CLAIMS, NOW_MS, NOW_S, claims_with, encoded

jwt = pytest.importorskip("jwt", reason="PyJWT is missing")
ec = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ec")
rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")

RULES = TokenRules(frozenset({"kafka"}), "https://issuer", 30, "sub", "scope")
NEW_EC_KEY: dict[str, Callable[[], Any]] = {
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ES384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ES512": lambda: ec.generate_private_key(ec.SECP521R1()),
}
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEYS = {algorithm: make() for algorithm, make in NEW_EC_KEY.items()}


def key_for(algorithm: str) -> Any:
    return EC_KEYS.get(algorithm, RSA_KEY)


def jwk_of(algorithm: str, key: Any = None, **members: Any) -> dict[str, Any]:
    public = (key or key_for(algorithm)).public_key()
    kind = jwt.algorithms.ECAlgorithm if algorithm.startswith("ES") else jwt.algorithms.RSAAlgorithm
    return dict(kind.to_jwk(public, as_dict=True)) | members


def key_set(*members: dict[str, Any]) -> KeySet:
    return parse_jwks(json.dumps({"keys": members}).encode())


ALL_KEYS = key_set(jwk_of("RS256", kid="rsa"), *(jwk_of(name, kid=name) for name in EC_KEYS))


def kid_of(algorithm: str) -> str:
    return algorithm if algorithm in EC_KEYS else "rsa"


def signed(algorithm: str = "ES256", key: Any = None, kid: str | None = "", **claims: Any) -> str:
    payload = {name: value for name, value in (CLAIMS | claims).items() if value is not None}
    headers = {} if kid is None else {"kid": kid or kid_of(algorithm)}
    return str(jwt.encode(payload, key or key_for(algorithm), algorithm, headers=headers))


def validator(keys: KeySet = ALL_KEYS, missed: Callable[[str], object] = lambda key_id: None) -> SignedTokens:
    return SignedTokens(RULES, lambda: keys, missed)


def refusal(token: str, keys: KeySet = ALL_KEYS) -> str:
    with pytest.raises(InvalidTokenError) as error:
        validator(keys).validate(token, NOW_MS)
    assert token not in error.value.reason
    return error.value.reason


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_token_with_each_algorithm_names_the_user(algorithm: str) -> None:
    assert validator().validate(signed(algorithm), NOW_MS) == ValidToken("alice", (NOW_S + 60) * 1000)
    assert validator().validate(signed(algorithm, kid=None), NOW_MS).user == "alice"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_token_signed_by_another_key_is_refused(algorithm: str) -> None:
    other = NEW_EC_KEY[algorithm]() if algorithm in EC_KEYS else rsa.generate_private_key(65537, 2048)
    assert refusal(signed(algorithm, other)) == "the signature of the token is wrong"
    assert refusal(signed(algorithm, other, kid=None)) == "the signature of the token is wrong"


def test_token_is_refused_without_keys() -> None:
    """CVE-2026-110985: no key source must not mean no check."""
    assert refusal(signed(), EMPTY_KEY_SET) == "there is no key for the signature of the token"


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", None, 5, "HS256", "ES256K", "EdDSA", "RS1"])
def test_token_with_another_algorithm_is_refused(algorithm: object) -> None:
    header = {"alg": algorithm, "kid": "rsa"}
    assert "is not accepted" in refusal(f"{encoded(header)}.{encoded(CLAIMS)}.c2ln")


def test_public_key_is_not_taken_for_the_secret_of_an_hmac() -> None:
    """CVE-2022-29217."""
    public = json.dumps(jwk_of("RS256")).encode()
    head = f"{encoded({'alg': 'HS256', 'kid': 'rsa'})}.{encoded(CLAIMS)}"
    forged = urlsafe_b64encode(hmac.digest(public, head.encode(), hashlib.sha256)).rstrip(b"=").decode()
    assert "is not accepted" in refusal(f"{head}.{forged}")


def test_key_bound_to_one_algorithm_checks_no_other() -> None:
    keys = key_set(jwk_of("RS256", kid="rsa", alg="RS256"))
    assert validator(keys).validate(signed("RS256"), NOW_MS).user == "alice"
    assert refusal(signed("PS256"), keys) == "there is no key for the signature of the token"


def test_symmetric_and_unsuitable_keys_are_left_out() -> None:
    weak = rsa.generate_private_key(65537, 1024)
    unusable: list[dict[str, Any]] = [
        {"kty": "oct", "kid": "o", "k": "c2VjcmV0"},
        jwk_of("RS256", kid="e", use="enc"),
        jwk_of("RS256", kid="ops", key_ops=["sign"]),
        jwk_of("RS256", kid="weak", key=weak),
        jwk_of("RS256", kid="a", alg="HS256"),
        jwk_of("ES256", kid="c", crv="P-384"),
        jwk_of("ES256", kid="s", crv="secp256k1"),
        jwk_of("ES256", kid="x", x="AA"),
        jwk_of("RS256", kid=7),
        {"kty": "RSA"},
        {"kty": "OKP", "crv": "Ed25519", "x": "AA"},
    ]
    keys = key_set(*unusable, jwk_of("ES256", kid="good"))
    assert [key.key_id for key in keys.keys] == ["good"]


@pytest.mark.parametrize("cut", [slice(0, -1), slice(1, None), slice(0, 40), slice(0, 0)])
def test_token_cut_short_is_refused(cut: slice) -> None:
    refusal(signed()[cut] or "x")


@given(st.integers(0, 2000), st.sampled_from("Aa9_-.+/= \n"))
def test_token_with_one_other_character_is_refused(position: int, character: str) -> None:
    token = signed()
    at = position % len(token)
    if token[at] != character:
        refusal(token[:at] + character + token[at + 1 :])


@pytest.mark.parametrize(
    "header", [{"crit": []}, {"crit": ["b64"], "b64": False}, {"b64": False}, {"kid": 5}, {"kid": []}]
)
def test_header_that_means_something_else_is_refused(header: dict[str, object]) -> None:
    sign = jwt.algorithms.get_default_algorithms()["ES256"].sign
    head = f"{encoded({'alg': 'ES256'} | header)}.{encoded(CLAIMS)}"
    signature = urlsafe_b64encode(sign(head.encode(), EC_KEYS["ES256"])).rstrip(b"=").decode()
    assert refusal(f"{head}.{signature}") != "the signature of the token is wrong"


def test_work_for_a_long_token_does_not_grow_with_its_length() -> None:
    """Anybody can send it, so no step in Python may be taken for each character (PyJWT takes three for each key)."""
    keys = key_set(*(jwk_of("RS256", kid=None, key=rsa.generate_private_key(65537, 2048)) for _ in range(2)))
    forged = [
        f"{encoded({'alg': 'RS256'})}.{'x' * 40_000}.{'s' * 344}",
        f"{encoded({'alg': 'RS256'})}.{encoded(CLAIMS)}.{'s' * 40_000}",
        f"{encoded({'alg': 'RS256', 'x': 'y' * 30_000})}.{encoded(CLAIMS)}.{'s' * 344}",
    ]
    for token in forged:
        calls = 0

        def count(*_: object) -> None:
            nonlocal calls
            calls += 1

        sys.setprofile(count)
        try:
            refusal(token, keys)
        finally:
            sys.setprofile(None)
        assert calls < 1000


def test_unknown_key_id_is_reported() -> None:
    missed: list[str] = []
    with pytest.raises(InvalidTokenError):
        validator(missed=missed.append).validate(signed(kid="new"), NOW_MS)
    assert missed == ["new"]


def test_header_with_critical_extension_is_refused() -> None:
    token = jwt.encode(CLAIMS, EC_KEYS["ES256"], "ES256", headers={"kid": "ES256", "crit": ["x"], "x": 1})
    refusal(token)


def test_missing_library_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jwt", None)
    with pytest.raises(ConfigError, match=r"pip install 'pybroker\[oauth\]'"):
        validator()


# -- claims


@pytest.mark.parametrize(
    ("claims", "reason"),
    [
        ({"exp": None}, "lacks exp or iat"),
        ({"iat": None}, "lacks exp or iat"),
        ({"exp": NOW_S - 30}, "has expired"),
        ({"exp": "soon"}, "claim exp of the token is no time"),
        ({"exp": True}, "claim exp of the token is no time"),
        ({"exp": -1}, "claim exp of the token is no time"),
        ({"exp": 2**60}, "claim exp of the token is no time"),
        ({"exp": float("inf")}, "claim exp of the token is no time"),
        ({"exp": float("nan")}, "claim exp of the token is no time"),
        ({"exp": 10**400}, "claim exp of the token is no time"),
        ({"iat": []}, "claim iat of the token is no time"),
        ({"nbf": NOW_S + 31}, "not valid yet"),
        ({"nbf": NOW_S + 61}, "ends before it begins"),
        ({"iat": NOW_S + 61}, "ends before it begins"),
        ({"aud": None}, "another audience"),
        ({"aud": "other"}, "another audience"),
        ({"aud": ["other"]}, "another audience"),
        ({"aud": {"kafka": 1}}, "neither a text nor a list"),
        ({"aud": ["kafka", 1]}, "neither a text nor a list"),
        ({"iss": None}, "another issuer"),
        ({"iss": "https://issuer/"}, "another issuer"),
        ({"iss": ["https://issuer"]}, "claim iss of the token is no text"),
        ({"sub": None}, "names no user"),
        ({"sub": " "}, "names no user"),
        ({"sub": 5}, "claim sub of the token is no text"),
        ({"scope": ""}, "empty or duplicate scope"),
        ({"scope": ["a", "a "]}, "empty or duplicate scope"),
        ({"scope": ["a", 1]}, "empty or duplicate scope"),
    ],
)
def test_each_wrong_claim_is_refused(claims: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidTokenError, match=reason):
        checked_claims(claims_with(claims), RULES, NOW_MS)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW_S - 29},
        {"exp": NOW_S + 60.5},
        {"nbf": NOW_S + 30},
        {"aud": ["x", "kafka"]},
        {"scope": None},
        {"scope": "a b"},
        {"sub": " alice "},
        {"iat": NOW_S + 60},
    ],
)
def test_each_right_claim_is_accepted(claims: dict[str, Any]) -> None:
    given_claims = claims_with(claims)
    assert checked_claims(given_claims, RULES, NOW_MS).user == "alice"


def test_audience_is_refused_when_none_is_expected() -> None:
    rules = TokenRules(frozenset(), None, 0, "sub", "scope")
    audiences: tuple[str | list[str], ...] = ("kafka", [])
    for audience in audiences:
        with pytest.raises(InvalidTokenError, match=r"expected\.audience is not set"):
            checked_claims({**CLAIMS, "aud": audience}, rules, NOW_MS)
    assert checked_claims(claims_with({"aud": None, "iss": "any"}), rules, NOW_MS).user == "alice"


@pytest.mark.parametrize("payload", [b"[]", b"{", b'{"sub":"a","sub":"b"}', b'{"exp":NaN}', b"[" * 100_000])
def test_payload_that_is_no_plain_object_is_refused(payload: bytes) -> None:
    token = jwt.PyJWS().encode(payload, EC_KEYS["ES256"], "ES256", headers={"kid": "ES256"})
    assert "payload is no" in refusal(token)
