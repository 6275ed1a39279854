"""An outsider cannot tell an unknown user from a wrong password by the time that the broker needs."""

import gc
import random
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

import pytest
from pybroker.broker.security.sasl.plain import PlainServer, PlainUsers
from pybroker.broker.security.sasl.sasl_server import LoginFailedError, SaslServer
from pybroker.broker.security.sasl.scram import ScramServer
from pybroker.broker.security.sasl.scram_credential import ScramCredential
from pybroker.broker.security.sasl.scram_users import ScramUsers
from pybroker.protocol.scram import SCRAM_MECHANISMS

LOGINS = 4000
SHA_256 = SCRAM_MECHANISMS["SCRAM-SHA-256"]
FINAL = b"c=biws,r=xn,p=" + b"A" * 43 + b"="


def duration_ns(server: SaslServer, messages: Sequence[bytes]) -> int:
    begin = time.perf_counter_ns()
    try:
        for message in messages:
            server.evaluate(message, 0)
    except LoginFailedError:
        return time.perf_counter_ns() - begin
    raise AssertionError("the login did not fail")


def share_of_longer_ones(one: list[int], other: list[int]) -> float:
    """The probability that a value of ``one`` exceeds one of ``other``; equal values count half (Mann and Whitney)."""
    ranked = sorted(other)
    below = sum(bisect_left(ranked, value) + bisect_right(ranked, value) for value in one)
    return below / (2 * len(one) * len(other))


@pytest.mark.long
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM"])
def test_unknown_user_takes_as_long_as_a_wrong_password(mechanism: str) -> None:
    users = ScramUsers(b"secret")
    users.set_user("alice", {SHA_256.name: ScramCredential.of_password(SHA_256, "p", b"s" * 26, 4096)})
    passwords = PlainUsers({"alice": "password"})
    new_server: Callable[[], SaslServer] = lambda: PlainServer(passwords)  # noqa: E731
    messages = {name: [f"\0{name}\0wrongwor".encode()] for name in ("alice", "nobby")}
    if mechanism == "SCRAM":
        new_server = lambda: ScramServer(SHA_256, users, "n")  # noqa: E731
        messages = {name: [f"n,,n={name},r=x".encode(), FINAL] for name in ("alice", "nobby")}
    times: dict[str, list[int]] = {"alice": [], "nobby": []}
    chosen = random.Random(7)
    gc.disable()
    try:
        for _ in range(2 * LOGINS):
            name = chosen.choice(("alice", "nobby"))
            times[name].append(duration_ns(new_server(), messages[name]))
    finally:
        gc.enable()
    # The times differ by less than 1 %. Comparing the names first, for example, would give 0.99.
    assert 0.4 < share_of_longer_ones(times["alice"], times["nobby"]) < 0.6
