"""Kafka's server side of each mechanism takes the same messages and tokens, except for a list of deviations."""

import json
import random
import subprocess
import time
from base64 import b64decode, b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from pybroker.broker.security.sasl.jwks import JwksError, parse_jwks
from pybroker.broker.security.sasl.oauth_bearer import OAuthBearerServer, ValidToken
from pybroker.broker.security.sasl.plain import PlainServer, PlainUsers
from pybroker.broker.security.sasl.sasl_server import LoginFailedError
from pybroker.broker.security.sasl.scram import ScramServer
from pybroker.broker.security.sasl.scram_users import ScramUsers
from pybroker.broker.security.sasl.signed_tokens import SignedTokens
from pybroker.broker.security.sasl.token_claims import TokenRules
from pybroker.client.oauth.token_text import InvalidTokenError
from pybroker.protocol.scram import SCRAM_MECHANISMS
from support.processes.java import java_command

PROBE = str(Path(__file__).parent / "SaslProbe.java")


def kafka(lines: Sequence[str]) -> list[str | None]:
    """Kafka's results; None: refused."""
    command = java_command(PROBE)
    ended = subprocess.run(command, input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    words = [line.split(" ") for line in ended.stdout.splitlines()]
    return [b64decode(each[1]).decode() if each[0] == "taken" else None for each in words]


PIECES = (
    "n", "y", ",", ",,", "a=", "n=", "r=", "m=x,", "alice", "=2C", "=3D", "=", "=2c", "x", "\0", "\x01", " ", "é", "€",
    ",e=f", "auth=", "Bearer ", "bearer", "e30.e30.c2ln", "~+/=", "\n", "\x7f", "k=v\x01", "\x1f", "😀",
)  # fmt: skip
GOOD = {
    "plain": ["\0alice\0alice", "alice\0alice\0alice", "\0é\0é"],
    "scram": ["n,,n=alice,r=x", "n,a=alice,n=alice,r=x", "n,,m=x,n=a=2Cb,r=x,e=f", "n,,n=alice,r=x,e=f,g=h=i"],
    "bearer": ["n,,\x01auth=Bearer e30.e30.c2ln\x01\x01", "n,a=x,\x01a=b\x01auth=bearer  t=\x01c=d e\x01\x01"],
}
MALFORMED_UTF_8 = {"plain": [b"\0a\xff\0a\xff", b"\0\xff\0\xff"], "scram": [b"n,,n=a\xff,r=x"], "bearer": []}


def messages(kind: str) -> list[bytes]:
    """Good messages, and good messages with pieces put in or taken out."""
    chosen = random.Random(kind)
    found = [*map(str.encode, GOOD[kind]), *MALFORMED_UTF_8[kind]]
    for _ in range(1500):
        text = chosen.choice(GOOD[kind])
        for _ in range(chosen.randrange(1, 3)):
            at = chosen.randrange(len(text) + 1)
            text = text[:at] + chosen.choice((*PIECES, "")) + text[at + chosen.randrange(3) :]
        found.append(text.encode())
    return found


class Echo:
    """Takes any token."""

    def validate(self, token: str, now_ms: int) -> ValidToken:
        raise InvalidTokenError(token)


def ours(kind: str, message: bytes) -> str | None:
    try:
        if kind == "plain":
            user = message.split(b"\0")[1].decode() if message.count(b"\0") else ""
            login = PlainServer(PlainUsers({user: user})).evaluate(message, 0).login
            return None if login is None else login.principal.name
        if kind == "scram":
            server = ScramServer(SCRAM_MECHANISMS["SCRAM-SHA-256"], ScramUsers(b"x"), "n")
            server.evaluate(message, 0)
            assert server._exchange is not None
            return server._exchange.user
        bearer = OAuthBearerServer(Echo())
        bearer.evaluate(message, 0)
        refused = bearer._refused
        assert refused is not None
    except (LoginFailedError, UnicodeDecodeError):
        return None
    return refused.reason


@pytest.mark.parametrize("kind", GOOD)
def test_kafka_takes_the_same_messages(kind: str) -> None:
    cases = messages(kind)
    results = kafka([f"{kind} {b64encode(message).decode()}" for message in cases])
    taken = 0
    for message, theirs in zip(cases, results, strict=True):
        if kind == "bearer" and theirs is not None:
            theirs = theirs.split("\0")[1]
        result = ours(kind, message)
        taken += result is not None
        if result != theirs:
            assert result is None, message
            assert is_deviation(kind, message), message
    assert taken > 20


def is_deviation(kind: str, message: bytes) -> bool:
    """Messages that Kafka takes and pybroker refuses: text that is not UTF-8, which Java replaces by question marks."""
    try:
        text = message.decode()
    except UnicodeDecodeError:
        return True
    # Kafka compares an escaped authorization id with the name itself.
    return kind == "scram" and "a=" in text and "=" in text.partition("a=")[2].partition(",n=")[0]


# -- tokens


def test_kafka_takes_the_same_tokens() -> None:
    jwt = pytest.importorskip("jwt", reason="PyJWT is missing")
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    key = rsa.generate_private_key(65537, 2048)
    jwk = {**jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "k"}
    now_s = int(time.time())
    base: dict[str, Any] = {"sub": "alice", "iss": "me", "aud": "kafka", "iat": now_s - 60, "exp": now_s + 600}
    cases = [
        (changes, audience, issuer, kid)
        for changes in _claim_changes(now_s)
        for audience, issuer in (("kafka", "me"), (None, None), ("other", None))
        for kid in ("k", None, "unknown")
    ]
    lines, results = [], []
    for changes, audience, issuer, kid in cases:
        claims = {name: value for name, value in (base | changes).items() if value is not None}
        token = jwt.PyJWS().encode(json.dumps(claims).encode(), key, "RS256", headers={"kid": kid} if kid else {})
        keys = json.dumps({"keys": [jwk]}).encode()
        fields = [b64encode(token.encode()).decode(), "30", audience or "-", issuer or "-", b64encode(keys).decode()]
        lines.append(" ".join(["token", *fields]))
        rules = TokenRules(frozenset([audience] if audience else []), issuer, 30, "sub", "scope")
        results.append(_validated(rules, keys, token, now_s * 1000))
    theirs = kafka(lines)
    differences = [(case, them, us) for case, them, us in zip(cases, theirs, results, strict=True) if them != us]
    assert differences == []
    assert sum(each is not None for each in results) > 10


def _validated(rules: TokenRules, keys: bytes, token: str, now_ms: int) -> str | None:
    try:
        valid = SignedTokens(rules, lambda: parse_jwks(keys), lambda key_id: None).validate(token, now_ms)
    except (InvalidTokenError, JwksError):
        return None
    return f"{valid.user}\0{valid.expires_at_ms}"


def _claim_changes(now_s: int) -> list[dict[str, Any]]:
    return [
        {},
        {"exp": None},
        {"exp": now_s - 60},
        {"exp": now_s - 10},
        {"exp": now_s + 5.7},
        {"exp": "soon"},
        {"exp": 2**70},
        {"iat": None},
        {"iat": now_s + 1000},
        {"iat": now_s + 500},
        {"iat": now_s + 600},
        {"iat": "x"},
        {"iat": -5},
        {"nbf": now_s + 1000},
        {"nbf": now_s + 10},
        {"nbf": "x"},
        {"sub": None},
        {"sub": ""},
        {"sub": "  "},
        {"sub": " bob "},
        {"sub": 5},
        {"sub": ["bob"]},
        {"aud": None},
        {"aud": []},
        {"aud": ["x", "kafka"]},
        {"aud": ["x"]},
        {"aud": 5},
        {"aud": ["kafka", 5]},
        {"iss": None},
        {"iss": "you"},
        {"iss": 5},
        {"scope": None},
        {"scope": ""},
        {"scope": "a b"},
        {"scope": ["a", "b"]},
        {"scope": ["a", "a"]},
        {"scope": ["a", " "]},
        {"scope": []},
        {"scope": 5},
        {"scope": {"a": 1}},
    ]
