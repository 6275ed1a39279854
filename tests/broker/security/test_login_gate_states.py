"""Random sequences of frames against the login gate, compared with a table; limits of decoding and memory."""

import gc
import sys
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security import login_gate
from pybroker.broker.security.login_actions import Answer, Authenticated, Close, PassOn
from pybroker.broker.security.login_gate import LoginGate
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message, decode_prefix, encode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.headers import RequestHeader
from pybroker.protocol.messages.metadata import MetadataRequest
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.security.gate_driver import PLAIN_TOKEN, Driver, api_versions, handshake, request, rules, token

FRAMES = {
    "versions": api_versions(),
    "versions of a bad name": api_versions(name="?"),
    "handshake v0": handshake("PLAIN", 0),
    "handshake v1": handshake("PLAIN", 1),
    "handshake of an unknown mechanism": handshake("X"),
    "token": token(PLAIN_TOKEN),
    "wrong token": token(b"\0alice\0x"),
    "forged token": token(b"bob\0alice\0secret"),
    "raw token": PLAIN_TOKEN,
    "wrong raw token": b"\0alice\0x",
    "metadata": request(MetadataRequest(topics=None), 1),
    "nothing": b"",
}
# State → frame → next state and the kinds of the actions. Everything else closes the connection.
MOVES: dict[str, dict[str, tuple[str, list[type]]]] = {
    "first": {
        "versions": ("handshake", [PassOn]),
        "versions of a bad name": ("first", [PassOn]),
        "handshake v0": ("raw", [Answer]),
        "handshake v1": ("framed", [Answer]),
    },
    "handshake": {"handshake v0": ("raw", [Answer]), "handshake v1": ("framed", [Answer])},
    "raw": {"raw token": ("open", [Answer, Authenticated])},
    "framed": {"token": ("open", [Answer, Authenticated])},
    # A second login of a session that ends. The sequence sends only what `admit` would send here.
    "open": {"handshake v0": ("raw", [Answer]), "handshake v1": ("framed", [Answer])},
}
CLOSED: tuple[str, list[type]] = ("closed", [Close])


@given(st.lists(st.sampled_from(sorted(FRAMES)), max_size=12))
def test_gate_follows_the_table(names: list[str]) -> None:
    driver, state = Driver(max_reauth_ms=1000), "first"
    for name in names:
        actions = driver.send(FRAMES[name])
        state, kinds = MOVES.get(state, {}).get(name, CLOSED)
        assert [type(action) for action in actions] == kinds, (state, name)
        assert driver.gate.is_open == (state == "open")
        assert (driver.gate.max_frame_bytes is None) == (state == "open")


@given(st.lists(st.sampled_from(list(FRAMES.values())) | st.binary(max_size=60), max_size=8), st.data())
def test_only_three_requests_are_ever_decoded(frames: list[bytes], data: st.DataObject) -> None:
    decoded: set[type[Message]] = set()

    def recorded(message_type: type[Message], *arguments: object) -> object:
        decoded.add(message_type)
        return decode_prefix(message_type, *arguments)  # type: ignore[arg-type]

    with patch.object(login_gate, "decode_prefix", recorded):
        driver = Driver(max_reauth_ms=1000)
        for frame in frames:
            at = data.draw(st.integers(0, len(frame)))
            mutated = frame[:at] + data.draw(st.binary(max_size=2)) + frame[at:]
            for action in driver.send(mutated):
                is_login = isinstance(action, Authenticated)
                assert not is_login or PLAIN_TOKEN in mutated
    assert decoded <= {RequestHeader, ApiVersionsRequest, SaslHandshakeRequest, SaslAuthenticateRequest}


def _is_followed(each: object) -> bool:
    is_ours = "pybroker" in type(each).__module__ and not type(each).__name__.endswith("Users")
    return is_ours or isinstance(each, dict | tuple | list)


def memory_of(gate: LoginGate) -> int:
    """Bytes of texts and buffers that the gate keeps alive, without the rules, which all connections share."""
    shared = {id(gate._rules)}
    seen: set[int] = set()
    waiting: list[object] = [gate]
    total = 0
    while waiting:
        each = waiting.pop()
        if id(each) in seen or id(each) in shared or isinstance(each, type):
            continue
        seen.add(id(each))
        if isinstance(each, str | bytes | bytearray):
            total += sys.getsizeof(each)
        elif _is_followed(each):
            waiting.extend(gc.get_referents(each))
    return total


LONG = b"x" * 500_000


@pytest.mark.parametrize(
    "long_frame",
    [
        b"n,,n=alice,r=x,e=" + LONG,
        b"n,,n=alice,r=" + LONG,
        b"\0alice\0" + LONG,
        LONG,
    ],
)
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "TOKEN"])
def test_gate_keeps_no_long_token(long_frame: bytes, mechanism: str) -> None:
    driver = Driver()
    driver.gate = LoginGate(replace(rules(), max_receive_bytes=524288))
    driver.shake(mechanism)
    driver.send(token(long_frame))
    assert memory_of(driver.gate) < 10_000


def test_gate_keeps_little_of_an_exchange_under_way() -> None:
    driver = Driver()
    driver.shake("SCRAM-SHA-256")
    (action,) = driver.send(token(b"n,,n=alice,r=x,e=" + b"y" * 8000))
    assert isinstance(action, Answer)
    assert 8_000 < memory_of(driver.gate) < 20_000


@pytest.mark.parametrize("count", [2**31 - 1, 2**20, 100_000])
def test_claimed_sizes_and_counts_allocate_nothing(count: int) -> None:
    """CVE-2022-34917: a length before the login is only a claim."""
    header = encode(RequestHeader(request_api_key=36, request_api_version=2, correlation_id=7), 2)
    varint = bytearray()
    rest = count + 1
    while rest > 127:
        varint.append(rest & 127 | 128)
        rest >>= 7
    varint.append(rest)
    tagged_fields = b"\x01" + bytes(varint) + b"\x00"
    for body in (bytes(varint), tagged_fields, bytes(varint) * 3):
        driver = Driver()
        driver.shake("PLAIN")
        (close,) = driver.send(header + body)
        assert isinstance(close, Close)
        assert "could not be decoded" in close.reason


def test_every_api_that_the_gate_takes_is_in_the_table_of_apis() -> None:
    taken = {key for keys in login_gate._APIS_OF.values() for key in keys}
    assert taken == {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
    assert taken <= API_SPECS.keys()
