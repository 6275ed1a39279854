"""Tests of the handshakes of `TlsTransport`: how they end, and why they fail."""

import ssl

import pytest
from pybroker.broker.security.tls.stream import HANDSHAKE_BYTES
from support.in_process.tls_ends import Ends, client_context, server_context


def established(**how: object) -> Ends:
    ends = Ends(**how)  # type: ignore[arg-type]
    ends.carry()
    assert ends.server.tls.is_established
    assert ends.client.tls.is_established
    return ends


def test_handshake_that_is_not_complete_by_its_deadline_is_closed() -> None:
    ends = Ends()
    ends.loop.advance(9_999)
    assert ends.server.causes == []
    ends.loop.advance(1)
    assert ends.server.causes == ["TOO_SLOW"]
    assert ends.server.raw.is_aborted


def test_time_in_which_the_broker_does_not_read_does_not_count_for_the_deadline() -> None:
    ends = Ends()
    ends.server.tls.pause_reading()
    ends.loop.advance(15_000)
    assert ends.server.causes == []
    ends.server.tls.resume_reading()
    ends.loop.advance(10_000)
    assert ends.server.causes == ["TOO_SLOW"]


def test_no_timer_is_left_after_a_handshake() -> None:
    ends = established()
    assert ends.loop.pending == 0


def test_connection_that_waits_for_admission_begins_no_handshake() -> None:
    ends = Ends()
    ends.server.tls.pause_reading()
    assert not ends.server.raw.is_read
    ends.carry()
    assert ends.handshakes.unanswered == 0
    ends.server.tls.resume_reading()
    ends.carry()
    assert ends.server.tls.is_established


def test_endless_client_hello_is_ended() -> None:
    ends = Ends()
    record = b"\x16\x03\x01\x40\x00"
    ends.server.receive(record + b"\x01\x01\xff\xff" + bytes(16_380))
    for _ in range(10):
        if not ends.server.raw.is_closing():
            ends.server.receive(record + bytes(16_384), 1000)
    assert ends.server.raw.is_closing()
    assert ends.server.causes in (["TOO_LONG"], ["UNKNOWN"])
    assert ends.server.tls._handshake_bytes <= HANDSHAKE_BYTES + 20_000


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (b"\0\0\0\x1f\0\x12\0\x03", "Kafka request in plain text"),
        (b"GET / HTTP/1.1\r\n", "HTTP request"),
        (b"PROXY TCP4 1.2.3.4", "PROXY protocol"),
        (b"\xffabc", "ff 61 62 63"),
        (b"\0", "Kafka request"),
    ],
)
def test_peer_that_sends_plain_text_is_named_and_gets_no_bytes(start: bytes, text: str) -> None:
    ends = Ends()
    ends.server.receive(start)
    assert ends.server.causes == ["PLAIN_TEXT"]
    assert text in str(ends.server.events.failures[0])
    assert ends.server.raw.sent == b""
    assert ends.server.raw.is_aborted


def test_server_that_sends_plain_text_is_named() -> None:
    ends = Ends()
    ends.client.receive(b"\0\0\0\x1f\0\x12\0\x03")
    assert ends.client.causes == ["PLAIN_TEXT"]


@pytest.mark.parametrize(
    ("server", "client", "hostname", "causes"),
    [
        (
            ("server", "other-authority"),
            ("client", "authority"),
            "localhost",
            ("UNKNOWN_AUTHORITY", "REFUSED_AUTHORITY"),
        ),
        (("server", "authority"), ("", "authority"), "localhost", ("NO_CERTIFICATE", "ASKED_FOR_CERTIFICATE")),
        (("server", "authority"), ("expired", "authority"), "localhost", ("EXPIRED", "REFUSED_EXPIRED")),
        (("server", ""), ("", "other-authority"), "localhost", ("REFUSED_AUTHORITY", "UNKNOWN_AUTHORITY")),
        (("server", ""), ("", "authority"), "127.0.0.2", ("REFUSED_CERTIFICATE", "WRONG_HOST")),
        (("server", ""), ("", "authority"), "example.org", ("REFUSED_CERTIFICATE", "WRONG_HOST")),
        (("server", "authority"), ("client", "authority"), "127.0.0.1", ()),
        (("deep-server", ""), ("", "authority"), "localhost", ()),
        (("deep-server", ""), ("", "intermediate"), "localhost", ("REFUSED_AUTHORITY", "UNKNOWN_AUTHORITY")),
    ],
)
def test_each_side_learns_why_a_handshake_failed(
    server: tuple[str, str], client: tuple[str, str], hostname: str, causes: tuple[str, ...]
) -> None:
    ends = Ends(server_context(*server), client_context(*client), hostname=hostname)
    ends.carry()
    assert (*ends.server.causes, *ends.client.causes) == causes
    assert ends.server.raw.is_closing() is bool(causes)


def test_connection_that_is_lost_after_a_refused_certificate_holds_no_bytes() -> None:
    """The bytes behind the certificate stay unread. The owner takes what is held when it is told of the loss as memory
    that nothing frees any more."""
    ends = Ends(server_context(trusted="authority"), client_context("foreign-client"))
    held: list[int] = []
    ends.server.app.connection_lost = lambda exc: held.append(  # type: ignore[method-assign]
        ends.server.tls.get_read_buffer_size()
    )
    ends.client.tls.write(b"request" * 100)
    ends.carry()
    assert ends.server.causes == ["UNKNOWN_AUTHORITY"]
    assert ends.server.tls.get_read_buffer_size() > 0
    ends.lose()
    assert held == [0]


def test_sides_without_a_common_version_or_suite_are_told_so() -> None:
    old, new = client_context(), server_context()
    old.maximum_version = ssl.TLSVersion.TLSv1_2
    new.minimum_version = ssl.TLSVersion.TLSv1_3
    ends = Ends(new, old)
    ends.carry()
    assert (ends.server.causes, ends.client.causes) == (["NO_COMMON_PROTOCOL"], ["REFUSED_PROTOCOL"])
    other = server_context()
    old.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    other.set_ciphers("ECDHE-ECDSA-AES256-GCM-SHA384")
    ends = Ends(other, old)
    ends.carry()
    assert (ends.server.causes, ends.client.causes) == (["NO_COMMON_SUITE"], ["REFUSED_HANDSHAKE"])


def test_peer_that_leaves_during_the_handshake_is_reported_only_if_it_sent_something() -> None:
    silent = Ends()
    assert not silent.server.tls.eof_received()
    assert silent.server.causes == []
    ends = Ends()
    ends.server.receive(ends.client.raw.take(50))
    assert not ends.server.tls.eof_received()
    assert ends.server.causes == ["CLOSED"]


def test_connection_lost_during_the_handshake_is_reported_to_a_client_always() -> None:
    for received, causes in ((0, []), (50, ["CLOSED"])):
        ends = Ends()
        ends.server.receive(ends.client.raw.take(received))
        for end in (ends.client, ends.server):
            end.tls.connection_lost(None)
            assert end.app.calls == (["made", "lost"] if end is ends.server else ["lost"])
        ends.loop.turn()
        assert ends.client.causes == ["CLOSED"]
        assert ends.server.causes == causes
        assert ends.handshakes.unanswered == ends.loop.pending == 0


def test_owner_may_abort_a_connection_when_its_handshake_is_complete() -> None:
    ends = Ends()
    ends.client.tls.write(b"request")
    ends.server.events.established = lambda connection: connection.abort()  # type: ignore[method-assign]
    ends.carry()
    assert ends.server.app.received == b""
    assert ends.server.raw.is_aborted


def test_owner_gets_the_certificate_before_any_plaintext() -> None:
    ends = Ends(server_context(trusted="authority"), client_context("client"))
    ends.client.tls.write(b"request")
    received_before: list[int] = []
    remember = ends.server.events.established

    def established_now(connection: object) -> None:
        received_before.append(len(ends.server.app.received))
        remember(connection)  # type: ignore[arg-type]

    ends.server.events.established = established_now  # type: ignore[method-assign]
    ends.carry()
    assert received_before == [0]
    certificate = ends.server.events.certificates[0]
    assert certificate is not None
    assert certificate[0] == 0x30
    assert ends.server.app.received == b"request"
