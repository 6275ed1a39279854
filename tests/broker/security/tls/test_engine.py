"""Tests of TLS connections that take turns with the buffers of their loop."""

from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.security.tls.buffers import TlsBuffers
from pybroker.broker.security.tls.engine import RECORD_BYTES, TlsEngine
from support.examples import examples
from support.in_process.tls_ends import client_context, server_context

SERVER, CLIENT = server_context(), client_context()
PAIRS = 3


class Pair:
    """A client and a server that share all buffers with other pairs. ``way`` is 0 from client to server, 1 back."""

    def __init__(self, buffers: TlsBuffers) -> None:
        self.engines = (
            TlsEngine(CLIENT, buffers, server_side=False, server_hostname="localhost"),
            TlsEngine(SERVER, buffers, server_side=True),
        )
        self.on_the_way = [b"", b""]
        self.sent = [b"", b""]
        self.received = [b"", b""]

    def shake_hands(self, way: int) -> None:
        self.engines[way].handshake()

    def take(self, way: int) -> None:
        self.on_the_way[way] += self.engines[way].take_output()

    def write(self, way: int, data: bytes) -> None:
        source = self.engines[way]
        if source.is_established:
            self.on_the_way[way] += b"".join(source.encrypt([data]))
            self.sent[way] += data

    def carry(self, way: int, count: int) -> None:
        data, self.on_the_way[way] = self.on_the_way[way][:count], self.on_the_way[way][count:]
        self.engines[1 - way].feed(data)

    def read(self, way: int, size: int) -> None:
        target = self.engines[1 - way]
        if target.is_established:
            buffer = bytearray(size)
            self.received[way] += buffer[: target.read_into(buffer)]

    def finish(self) -> None:
        for way in (0, 1) * 5:
            self.shake_hands(way)
            self.take(way)
            self.carry(way, len(self.on_the_way[way]))
            for _ in range(20):
                self.read(way, RECORD_BYTES)


steps = st.lists(
    st.tuples(
        st.integers(0, PAIRS - 1),
        st.sampled_from(["shake_hands", "take", "write", "carry", "read"]),
        st.sampled_from([0, 1]),
        st.integers(1, 3000),
    ),
    max_size=80,
)


@settings(deadline=None, max_examples=examples(60))
@given(steps, st.booleans())
def test_connections_that_share_buffers_never_mix_their_bytes(
    chosen: list[tuple[int, str, int, int]], begins_established: bool
) -> None:
    buffers = TlsBuffers()
    pairs = [Pair(buffers) for _ in range(PAIRS)]
    if begins_established:
        for pair in pairs:
            pair.finish()
    for number, step, way, size in chosen:
        pair = pairs[number]
        if step in ("shake_hands", "take"):
            getattr(pair, step)(way)
        elif step == "write":
            pair.write(way, bytes([number * 2 + way + 1]) * size)
        else:
            getattr(pair, step)(way, size)
    for pair in pairs:
        pair.finish()
        assert pair.received == pair.sent
        assert all(engine.is_established for engine in pair.engines)


def test_output_that_was_not_taken_stays_with_its_connection() -> None:
    buffers = TlsBuffers()
    first, second = Pair(buffers), Pair(buffers)
    first.shake_hands(0)
    second.shake_hands(0)
    hello = second.engines[0].take_output()
    assert hello.count(b"localhost") == 1
    assert first.engines[0].take_output() != hello
    assert first.engines[0].take_output() == b""


def test_bytes_fed_and_not_read_are_counted_while_another_connection_uses_the_buffers() -> None:
    buffers = TlsBuffers()
    first, second = Pair(buffers), Pair(buffers)
    first.finish()
    second.finish()
    first.write(0, b"request")
    first.carry(0, 1000)
    held = first.engines[1].held_bytes
    second.write(0, b"x" * 1000)
    assert first.engines[1].held_bytes == held > len(b"request")
    assert first.engines[1].may_have_plaintext
    first.read(0, 100)
    assert first.received[0] == b"request"
