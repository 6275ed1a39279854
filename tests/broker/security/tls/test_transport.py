"""Tests of `TlsTransport` between two ends in memory."""

import gc
import ssl
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.security.tls.buffers import CIPHERTEXT_BYTES, TlsBuffers
from pybroker.broker.security.tls.engine import TlsEngine
from support.examples import examples
from support.in_process.tls_ends import App, Ends, client_context, server_context

RECORD = 16 * 1024 + 256


def established(**how: object) -> Ends:
    ends = Ends(**how)  # type: ignore[arg-type]
    ends.carry()
    assert ends.server.tls.is_established
    assert ends.client.tls.is_established
    return ends


def pattern(size: int) -> bytes:
    return bytes(position * 7 % 251 for position in range(size))


# --- bytes arrive


@settings(deadline=None, max_examples=examples(40))
@given(
    st.integers(1, 70_000),
    st.one_of(st.integers(64, 600), st.integers(600, 100_000)),
    st.integers(1, 40_000),
    st.lists(st.integers(0, 50_000), max_size=6),
    st.sampled_from([ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]),
)
def test_bytes_arrive_in_order_whatever_the_sizes_of_reads_writes_and_buffers(
    piece: int, window: int, buffer: int, sizes: list[int], version: ssl.TLSVersion
) -> None:
    client = client_context()
    client.maximum_version = version
    ends = established(client=client, piece=piece, window=window, server_app=App(buffer), client_app=App(buffer))
    sent = [pattern(size) for size in sizes]
    for data in sent:
        ends.client.tls.write(data)
    ends.server.tls.writelines(sent)
    ends.carry()
    assert ends.server.app.received == ends.client.app.received == b"".join(sent)
    assert not ends.client.app.is_backlogged
    assert not ends.server.app.is_backlogged


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_whole_conversation_may_arrive_byte_by_byte(version: ssl.TLSVersion) -> None:
    client = client_context("client")
    client.maximum_version = version
    ends = established(server=server_context(trusted="authority"), client=client, piece=1)
    ends.client.tls.write(b"request")
    ends.server.tls.write(b"response")
    ends.carry()
    ends.client.tls.close()
    ends.carry()
    assert ends.server.app.received == b"request"
    assert ends.client.app.received == b"response"
    assert ends.server.app.calls == ["made", "eof"]


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_clients_stream_may_be_split_at_any_byte(version: ssl.TLSVersion) -> None:
    server, client = server_context(), client_context()
    client.maximum_version = version
    length, at = 1, 0
    while at < length:
        ends = Ends(server, client)
        ends.client.tls.write(b"request")
        length = 0
        while ends.client.raw.sent:
            data = ends.client.raw.take()
            split = max(0, at - length)
            ends.server.receive(data[:split])
            ends.server.receive(data[split:])
            length += len(data)
            if ends.server.raw.sent:
                ends.client.receive(ends.server.raw.take())
        assert ends.server.app.received == b"request"
        at += 1
    assert at > 300


def test_bytes_written_before_the_handshake_wait_for_its_end() -> None:
    ends = Ends()
    ends.client.tls.write(b"early")
    assert ends.client.app.is_backlogged
    assert ends.client.tls.get_write_buffer_size() == 5
    assert b"early" not in ends.client.raw.sent
    ends.carry()
    assert ends.server.app.received == b"early"
    assert not ends.client.app.is_backlogged


def test_small_parts_of_one_write_share_a_record() -> None:
    ends = established()
    ends.server.tls.writelines([b"a" * 100] * 100)
    assert len(ends.server.raw.sent) < 100 * 100 + 60


def test_plaintext_never_reaches_the_socket() -> None:
    ends = established()
    ends.server.tls.write(b"canary secret" * 10)
    assert b"canary" not in ends.server.raw.sent


def test_protocol_learns_of_the_connection_before_the_handshake() -> None:
    ends = Ends()
    assert ends.server.app.calls == ["made"]
    assert ends.server.tls.get_extra_info("socket") == "the socket"
    assert ends.server.tls.peer_certificate is None


# --- back-pressure


def test_paused_reading_stops_the_socket_and_keeps_one_read_and_a_record_at_most() -> None:
    ends = established(server_app=App(1000))
    sent = pattern(300_000)
    ends.server.app.pause_after = 10_000
    ends.client.tls.write(sent)
    ends.carry()
    received = len(ends.server.app.received)
    assert received < 100_000
    assert not ends.server.raw.is_read
    held = ends.server.tls.get_read_buffer_size()
    assert 0 < held <= CIPHERTEXT_BYTES + RECORD
    # Everything is delivered, held and reported, or still in the socket, except for a part of one record in OpenSSL.
    elsewhere = len(sent) - received - held - len(ends.client.raw.sent)
    assert -1_000 < elsewhere < RECORD
    ends.server.tls.resume_reading()
    ends.carry()
    assert ends.server.app.received == sent
    assert ends.server.tls.get_read_buffer_size() == 0


def test_records_that_wait_when_reading_resumes_are_delivered_without_another_read() -> None:
    ends = established(server_app=App(1000))
    ends.server.app.pause_after = 1
    ends.client.tls.write(b"a" * 40_000)
    ends.carry()
    assert len(ends.client.raw.sent) == 0
    ends.server.tls.resume_reading()
    ends.loop.turn()
    assert len(ends.server.app.received) == 40_000
    assert ends.server.raw.is_read


def test_resumed_reading_delivers_in_a_later_iteration_of_the_loop() -> None:
    ends = established(server_app=App(1000))
    ends.server.app.pause_after = 1
    ends.client.tls.write(b"a" * 40_000)
    ends.carry()
    before = len(ends.server.app.received)
    ends.server.tls.resume_reading()
    assert len(ends.server.app.received) == before
    assert not ends.server.raw.is_read


def test_full_read_lets_other_connections_go_first() -> None:
    ends = established()
    ends.client.tls.write(bytes(200_000))
    ends.server.receive(ends.client.raw.take(CIPHERTEXT_BYTES - 1))
    assert ends.server.raw.is_read
    buffer = ends.server.tls.get_buffer(-1)
    buffer[:] = ends.client.raw.take(CIPHERTEXT_BYTES)
    ends.server.tls.buffer_updated(CIPHERTEXT_BYTES)
    is_read = [ends.server.raw.is_read]
    ends.loop.turn()
    is_read.append(ends.server.raw.is_read)
    assert is_read == [False, True]


def test_all_unsent_bytes_are_in_the_write_buffer_size_and_stay_unencrypted() -> None:
    ends = established(window=10_000)
    size = 5_000_000
    ends.server.tls.write(bytes(size))
    ends.loop.turn()
    assert ends.server.app.is_backlogged
    unsent = ends.server.tls.get_write_buffer_size()
    assert size <= unsent + len(ends.server.raw.sent) < size * 1.01
    assert len(ends.server.raw.backlog) < 600_000
    ends.carry()
    assert len(ends.client.app.received) == size
    assert ends.server.tls.get_write_buffer_size() == 0


def test_bytes_written_while_the_socket_is_full_stay_unencrypted() -> None:
    ends = established(window=10)
    ends.server.tls.write(bytes(1000))
    backlog = len(ends.server.raw.backlog)
    assert backlog > 0
    ends.server.tls.write(bytes(100_000))
    assert len(ends.server.raw.backlog) == backlog
    assert ends.server.tls.get_write_buffer_size() == backlog + 100_000


def test_a_long_response_is_encrypted_in_several_iterations_of_the_loop() -> None:
    ends = established()
    ends.server.tls.write(bytes(5_000_000))
    assert len(ends.server.raw.sent) < 600_000
    assert ends.server.app.is_backlogged
    ends.loop.turn()
    assert 600_000 < len(ends.server.raw.sent) < 1_200_000


# --- endings


@pytest.mark.parametrize("size", [50, 50_000, 2_000_000])
def test_close_sends_what_was_written_and_then_says_that_nothing_follows(size: int) -> None:
    ends = established(window=10_000)
    sent = pattern(size)
    ends.server.tls.write(sent)
    ends.server.tls.close()
    assert ends.server.tls.is_closing()
    ends.server.tls.write(b"after the close")
    ends.carry()
    assert ends.client.app.received == sent
    assert ends.client.app.calls == ["made", "eof"]
    assert ends.server.raw.is_closing()
    assert not ends.server.raw.is_aborted


def test_connection_that_can_send_nothing_more_is_aborted_although_it_is_closing() -> None:
    ends = established(window=10)
    ends.server.tls.write(bytes(2_000_000))
    ends.server.tls.close()

    class Broken(TlsEngine):
        def encrypt(self, pieces: object) -> list[bytes]:
            raise ssl.SSLError("bad length")

    ends.server.tls._writer.engine = Broken(server_context(), TlsBuffers(), server_side=True)
    while not ends.server.raw.is_closing():
        ends.server.raw.take()
    assert ends.server.raw.is_aborted
    assert ends.server.causes == []


def test_half_closed_client_still_gets_its_response() -> None:
    server_app = App(keeps_open=True)
    ends = established(server_app=server_app)
    engine = ends.client.tls._engine
    assert isinstance(engine, TlsEngine)
    ends.client.tls.write(b"request")
    ends.client.raw.sent += engine.close_notify()
    while ends.client.raw.sent:
        ends.server.receive(ends.client.raw.take())
    assert server_app.received == b"request"
    assert server_app.calls == ["made", "eof"]
    assert ends.server.tls.eof_received(), "the FIN that follows close_notify closes the connection"
    ends.server.tls.write(b"response")
    ends.server.tls.close()
    engine.feed(ends.server.raw.take())
    response = bytearray(100)
    assert response[: engine.read_into(response)] == b"response"
    assert engine.peer_has_closed
    assert server_app.calls == ["made", "eof"]


@pytest.mark.parametrize("keeps_open", [True, False])
def test_end_of_the_tcp_stream_without_close_notify_is_an_end_of_the_stream(keeps_open: bool) -> None:
    ends = established(server_app=App(keeps_open=keeps_open))
    assert ends.end_stream(ends.client, ends.server) is keeps_open
    assert ends.server.app.calls == ["made", "eof"]
    assert ends.server.raw.is_closing() is not keeps_open


def test_bytes_after_close_notify_are_not_delivered() -> None:
    ends = established(server_app=App(keeps_open=True))
    engine = ends.client.tls._engine
    assert isinstance(engine, TlsEngine)
    ends.server.receive(engine.close_notify() + b"\x17\x03\x03\x00\x02ab")
    assert ends.server.app.received == b""
    assert ends.server.tls.get_read_buffer_size() <= 7
    assert ends.server.causes == []


def test_abort_drops_everything_at_once() -> None:
    ends = established(window=10)
    ends.server.tls.write(bytes(100_000))
    ends.server.tls.abort()
    assert ends.server.raw.is_aborted
    assert ends.server.tls.get_write_buffer_size() == 0
    ends.lose()
    ends.server.tls.write(b"more")
    ends.server.tls.close()
    ends.server.tls.abort()
    ends.loop.turn()
    assert ends.server.app.calls == ["made", "lost"]


def test_lost_connection_is_freed_without_a_garbage_collection() -> None:
    ends = established()
    freed = weakref.ref(ends.server.app)
    ends.server.tls.abort()
    ends.lose()
    gc.disable()
    try:
        del ends.server.app
        assert freed() is None
    finally:
        gc.enable()


def test_bytes_that_are_no_record_fail_the_connection_with_an_alert() -> None:
    ends = established()
    ends.server.receive(b"\x17\x03\x03\x00\x20" + b"x" * 32)
    assert ends.server.causes == ["UNKNOWN"]
    assert ends.server.raw.sent
    assert ends.server.raw.is_closing()
    ends.lose()
    assert ends.server.app.calls == ["made", "lost"]


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 4000), st.binary(min_size=1, max_size=200), st.integers(1, 5000))
def test_changed_bytes_end_in_one_failure_or_none_and_never_in_an_exception(at: int, noise: bytes, piece: int) -> None:
    ends = Ends(piece=piece)
    passed = 0
    for _ in range(30):
        for source, target in ((ends.client, ends.server), (ends.server, ends.client)):
            data = bytearray(source.raw.take())
            if source is ends.client and passed <= at < passed + len(data):
                data[at - passed : at - passed + len(noise)] = noise
            passed += len(data) if source is ends.client else 0
            if not target.raw.is_closing():
                target.receive(bytes(data), piece)
        ends.loop.turn()
    assert len(ends.server.causes) <= 1
    assert ends.server.app.received == b""
