"""Kafka's client side of OAUTHBEARER renews tokens at the same times, takes the same ones, sends the same request."""

import random
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from pybroker.broker.security.sasl.token_renewal import RenewalTimes, renewal_at_ms
from pybroker.client.oauth.http_exchange import HttpLimits
from pybroker.client.oauth.own_token import ClaimNames, OwnToken, own_token
from pybroker.client.oauth.token_source import TokenEndpoint
from pybroker.client.oauth.token_text import InvalidTokenError
from pybroker.protocol.client import BearerToken
from support.processes.java import java_command
from support.security.tokens import encoded, unchecked_token

PROBE = str(Path(__file__).parent / "LoginProbe.java")
NOW_MS = 1_700_000_000_000


def kafka(questions: Sequence[str]) -> list[str]:
    command = java_command(PROBE)
    ended = subprocess.run(command, input="\n".join(questions) + "\n", capture_output=True, text=True, check=True)
    lines = [line for line in ended.stdout.splitlines() if not line.startswith(("[", "SLF4J"))]
    assert len(lines) == len(questions), ended.stderr
    return lines


def renewals() -> list[tuple[int | None, int, RenewalTimes]]:
    """Beginnings, ends and settings; ends and buffers of all magnitudes, so that each limit counts for some."""
    chosen, found = random.Random(7), []
    for _ in range(3000):
        life_ms = int(10 ** chosen.uniform(0, 9))
        ends_ms = NOW_MS + chosen.randrange(-life_ms // 10, life_ms + 1)
        begins_ms = None if chosen.random() < 0.2 else ends_ms - life_ms
        times = RenewalTimes(chosen.uniform(0.5, 1), 0.0, chosen.randrange(901), chosen.randrange(3601), 100, 10_000)
        found.append((begins_ms, ends_ms, times))
    return found


def test_kafka_renews_tokens_at_the_same_times() -> None:
    cases = renewals()
    questions = [
        f"renewal {'-' if begins_ms is None else begins_ms} {ends_ms} {NOW_MS} {times.window_factor} "
        f"{times.min_period_s} {times.buffer_s}"
        for begins_ms, ends_ms, times in cases
    ]
    for case, theirs in zip(cases, kafka(questions), strict=True):
        begins_ms, ends_ms, times = case
        token = OwnToken(BearerToken("x.y.z"), "broker", begins_ms, ends_ms)
        assert renewal_at_ms(token, times, NOW_MS, 0.5) == int(theirs), case


ABSENT = object()
CLAIMS: dict[str, list[Any]] = {
    "exp": [ABSENT, 1_700_000_000, 1.5, "1", -1, None],
    "sub": [ABSENT, "alice", " é ", "", " ", 5],
    "iat": [ABSENT, 1_600_000_000, "1", -1],
    "scope": [ABSENT, "a", "", ["a", "b"], ["a", "a"], ["a", ""], [5], 5],
}


def tokens() -> list[str]:
    found = [unchecked_token({"sub": "a", "exp": 1}) + more for more in ("", ".a", "=", "\x01", "é")]
    found += [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c",
        f"{encoded({})}.{encoded([1])}.c2ln",
        f"a.{encoded({'sub': 'a', 'exp': 1})}.",
    ]
    for values in product(*CLAIMS.values()):
        found.append(
            unchecked_token({name: value for name, value in zip(CLAIMS, values, strict=True) if value is not ABSENT})
        )
    return found


def test_kafka_takes_the_same_tokens() -> None:
    cases = tokens()
    taken = 0
    for case, theirs in zip(cases, kafka([f"token {case}" for case in cases]), strict=True):
        try:
            token = own_token(case, ClaimNames())
            began = "null" if token.begins_at_ms is None else str(token.begins_at_ms)
            ours = f"{b64encode(token.user.encode()).decode()} {began} {token.expires_at_ms}"
        except InvalidTokenError:
            ours = "refused"
        taken += ours != "refused"
        if ours != theirs:
            assert ours == "refused", case
            assert is_deviation(case), case
    assert taken > 20


def is_deviation(token: str) -> bool:
    """Tokens that Kafka takes and pybroker refuses: with characters that would end the message to a broker, and with a
    scope that is no text."""
    return token[-1] in "\x01é" or b'"scope": [5]' in b64decode(token.split(".")[1] + "==")


def test_kafka_sends_the_same_request() -> None:
    limits = HttpLimits(1, 1, 1)
    cases = [("me", "secret", "a b"), ("é:", " s&=+ ", "x/y*z~"), ("a", "b", ""), ("a", "b", " ")]
    questions = ["request " + " ".join(b64encode(word.encode()).decode() for word in case) for case in cases]
    for case, theirs in zip(cases, kafka(questions), strict=True):
        client_id, secret, scope = (word.strip() for word in case)
        ours = TokenEndpoint("https://a", client_id, secret, scope, limits, ClaimNames())
        header = ours._headers()["Authorization"]
        *their_header, their_form = theirs.split(" ")
        assert header.split(" ") == their_header
        assert parse_qs(ours._form(), strict_parsing=True) == parse_qs(their_form.encode(), strict_parsing=True)
