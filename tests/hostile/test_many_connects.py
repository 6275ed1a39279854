"""Connects of every kind, again and again, leave nothing behind in a broker with TLS and logins.

Objects, descriptors and accounts are counted exactly. Memory is compared after the first rounds, because caches and
the allocator grow meanwhile.
"""

import ssl
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from pybroker.protocol.errors import KafkaError
from pybroker.protocol.messages.metadata import MetadataRequest
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.clients.tls_peer import TlsPeer
from support.in_process.counted_broker import (
    LOGIN_LISTENER,
    PASSWORD,
    TLS_LISTENER,
    Account,
    CountedBroker,
    counted_broker,
)
from support.in_process.tls_ends import client_context
from support.processes.arena import frame_of
from support.security.sasl_broker import login_of

METADATA = MetadataRequest(topics=[])
HOSTS = 50
"""Addresses of the clients. So many share no port, and the broker's limits and logs are by address."""


class Attackers:
    """The clients. ``number`` counts their connections."""

    def __init__(self, broker: CountedBroker) -> None:
        self._broker = broker
        self.number = 0
        self._contexts = {
            "TLS 1.3": client_context(),
            "TLS 1.3 with a certificate": client_context("client"),
            "TLS 1.2": _of_tls_1_2(client_context()),
            "TLS 1.2 with a certificate": _of_tls_1_2(client_context("client")),
            "stranger": client_context(trusted="other-authority"),
            "foreign": client_context("foreign-client"),
        }

    def connect(self, listener: str = TLS_LISTENER, context: str = "TLS 1.3") -> TlsPeer:
        self.number += 1
        host = f"127.0.0.{2 + self.number % HOSTS}"
        return TlsPeer(self._broker.ports[listener], self._contexts[context], host)

    def part_of(self, flight: bytes) -> bytes:
        """Another part each time, from no byte to all."""
        return flight[: self.number * 7 % (len(flight) + 1)]


def _of_tls_1_2(context: ssl.SSLContext) -> ssl.SSLContext:
    """With tickets. Else OpenSSL remembers sessions: 20,480 at most."""
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context


# --- kinds of connections


def silent(attackers: Attackers) -> TlsPeer:
    return attackers.connect()


def cut_in_the_hello(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect()
    peer.socket.sendall(attackers.part_of(peer.next_flight()))
    return peer


def cut_before_the_answer(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect()
    peer.socket.sendall(peer.next_flight())
    return peer


def cut_in_the_last_flight(attackers: Attackers, context: str = "TLS 1.3 with a certificate") -> TlsPeer:
    peer = attackers.connect(context=context)
    peer.socket.sendall(peer.next_flight())
    peer.socket.sendall(attackers.part_of(peer.rest_of_flight()))
    return peer


def cut_in_the_last_flight_of_tls_1_2(attackers: Attackers) -> TlsPeer:
    return cut_in_the_last_flight(attackers, "TLS 1.2 with a certificate")


def complete(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect(context=("TLS 1.3", "TLS 1.3 with a certificate")[attackers.number % 2])
    peer.shake_hands()
    peer.close_notify()
    return peer


def complete_with_tls_1_2(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect(context=("TLS 1.2", "TLS 1.2 with a certificate")[attackers.number % 2])
    peer.shake_hands()
    peer.ask(METADATA, 4)
    return peer


def reset_after_a_request(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect()
    peer.shake_hands()
    peer.send(frame_of(METADATA, 4))
    peer.reset()
    return peer


def cut_in_a_record(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect()
    peer.shake_hands()
    peer.ask(METADATA, 4)
    peer.socket.sendall(b"\x17\x03\x03\x40\x00" + bytes(attackers.number % 5000))
    return peer


def refused_certificate(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect(context="foreign")
    peer.shake_hands()
    peer.wait_for_end()
    return peer


def client_without_trust(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect(context="stranger")
    with pytest.raises(ssl.SSLError):
        peer.shake_hands()
    peer.send_alert()
    return peer


def plain_text(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect((TLS_LISTENER, LOGIN_LISTENER)[attackers.number % 2])
    peer.socket.sendall((frame_of(METADATA, 4), b"GET / HTTP/1.1\r\n\r\n")[attackers.number % 3 % 2])
    peer.wait_for_end()
    return peer


def logged_in(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect(LOGIN_LISTENER)
    peer.shake_hands()
    peer.log_in(login_of(("PLAIN", "SCRAM-SHA-256")[attackers.number % 2], "alice", PASSWORD))
    peer.ask(METADATA, 4)
    return peer


def wrong_password(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect(LOGIN_LISTENER)
    peer.shake_hands()
    user = ("alice", f"stranger{attackers.number}")[attackers.number % 3 % 2]
    with pytest.raises(KafkaError):
        peer.log_in(login_of(("PLAIN", "SCRAM-SHA-256")[attackers.number % 2], user, "wrong"))
    peer.wait_for_end()
    return peer


def cut_in_the_login(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect(LOGIN_LISTENER)
    peer.shake_hands()
    peer.ask(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
    return peer


def vanished_during_the_delay_of_a_failed_login(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect(LOGIN_LISTENER)
    peer.shake_hands()
    peer.send(frame_of(SaslHandshakeRequest(mechanism="GSSAPI"), 1))
    return peer


def request_before_the_login(attackers: Attackers) -> TlsPeer:
    peer = attackers.connect(LOGIN_LISTENER)
    peer.shake_hands()
    peer.send(frame_of(METADATA, 4))
    peer.wait_for_end()
    return peer


CHEAP = (silent, cut_in_the_hello, cut_before_the_answer, plain_text)
KINDS: tuple[Callable[[Attackers], TlsPeer], ...] = (
    *CHEAP * 8,
    cut_in_the_last_flight,
    cut_in_the_last_flight_of_tls_1_2,
    complete,
    complete_with_tls_1_2,
    reset_after_a_request,
    cut_in_a_record,
    refused_certificate,
    client_without_trust,
    logged_in,
    wrong_password,
    cut_in_the_login,
    vanished_during_the_delay_of_a_failed_login,
    request_before_the_login,
)


def rounds(attackers: Attackers) -> Iterator[int]:
    """One connection of each kind a round; yields the number of connections so far."""
    for _ in count():
        for kind in KINDS:
            kind(attackers).close()
        yield attackers.number


def after(connects: int, attackers: Attackers, broker: CountedBroker) -> Account:
    next(number for number in rounds(attackers) if number >= connects)
    return broker.without_connections()


@pytest.mark.parametrize(
    ("warm_up", "connects", "growth_kib"),
    [
        pytest.param(500, 900, 2_500, id="hundreds"),
        pytest.param(10_000, 100_000, 6_000, id="a hundred thousand", marks=pytest.mark.long),
    ],
)
@pytest.mark.timeout(3600)
def test_connects_of_every_kind_leave_nothing_behind(
    tmp_path: Path, warm_up: int, connects: int, growth_kib: int
) -> None:
    """After ``warm_up`` connects each kind has come from each of its hosts, so the broker remembers these clients."""
    with counted_broker(tmp_path) as broker:
        attackers = Attackers(broker)
        began_s = time.monotonic()
        before = after(warm_up, attackers, broker)
        at_the_end = after(connects, attackers, broker)
        print(f"{attackers.number} connects in {time.monotonic() - began_s:.0f} s: from {before} to {at_the_end}")
        logged_in(attackers).close()
    assert (at_the_end.connections, at_the_end.handshakes) == (0, 0)
    assert at_the_end.account_bytes == before.account_bytes == dict.fromkeys(before.account_bytes, 0)
    assert at_the_end.sessions <= before.sessions
    assert at_the_end.descriptors == before.descriptors
    assert at_the_end.objects == before.objects
    assert at_the_end.resident_kib - before.resident_kib <= growth_kib


def test_leak_is_noticed(tmp_path: Path) -> None:
    """The same counts see connections that are only open."""
    with counted_broker(tmp_path) as broker:
        attackers = Attackers(broker)
        before = after(1, attackers, broker)
        peer = attackers.connect()
        peer.shake_hands()
        peer.ask(METADATA, 4)
        held = broker.account()
        peer.close()
        broker.without_connections()
    more = {name for name, number in held.objects.items() if number > before.objects.get(name, 0)}
    assert {
        "pybroker.broker.network.connection.Connection",
        "pybroker.broker.security.tls.transport.TlsTransport",
    } <= more
    assert held.descriptors == before.descriptors + 1
    assert held.connections
