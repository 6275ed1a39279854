"""An outsider cannot tell an unknown user from a wrong password by the time that the broker needs."""

import gc
import random
import time
from collections.abc import Callable, Sequence
from statistics import median

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
    known, unknown = (median(durations) for durations in times.values())
    # Measured: 0.6 % for PLAIN, which is 10 ns, and 0.4 % for SCRAM. Networks hide differences of microseconds.
    assert abs(known - unknown) < 0.03 * known
