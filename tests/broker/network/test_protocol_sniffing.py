"""Tests that non-Kafka clients are recognised."""

import pytest
from pybroker.broker.network.protocol_sniffing import recognise


@pytest.mark.parametrize(
    ("start", "words"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01", "TLS"),
        (b"GET / HTTP/1.1\r\n", "HTTP"),
        (b"POST /x HTTP/1.1", "HTTP"),
        (b"PRI * HTTP/2.0", "HTTP"),
        (b"PROXY TCP4 10.0.0.1 ", "PROXY protocol"),
        (b"PROX", "PROXY protocol"),
        (b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c", "PROXY protocol"),
    ],
)
def test_clients_of_other_protocols_are_recognised_by_their_first_bytes(start: bytes, words: str) -> None:
    other = recognise(start)
    assert other is not None
    assert words in other.description


@pytest.mark.parametrize(
    "start", [b"", b"\x00\x00\x00\x20\x00\x12\x00\x03", b"GETX", b"\x15\x03\x01", b"PRO", b"PROXIES", b"\r\n"]
)
def test_other_first_bytes_are_not_recognised(start: bytes) -> None:
    assert recognise(start) is None
