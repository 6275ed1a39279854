"""Key updates of TLS 1.3: a client may ask for new keys as often as it likes, and need not read the answers.

Python cannot send key updates, so the test calls OpenSSL below `ssl`, whose objects begin with a pointer to it.
"""

import ctypes
import ctypes.util

import pytest
from support.in_process.tls_ends import App, Ends

_UPDATE_REQUESTED = 1
_PLACE_OF_POINTER = 3 * ctypes.sizeof(ctypes.c_void_p)  # behind the head of the object and its socket


def openssl() -> ctypes.CDLL:
    path = ctypes.util.find_library("ssl")
    if path is None:
        pytest.skip("libssl is missing")
    library = ctypes.CDLL(path)
    library.SSL_key_update.argtypes = (ctypes.c_void_p, ctypes.c_int)
    library.SSL_do_handshake.argtypes = (ctypes.c_void_p,)
    return library


def ask_for_new_keys(ends: Ends, library: ctypes.CDLL) -> None:
    """The client sends a key update that asks for one of the server."""
    engine = ends.client.tls._engine
    assert engine is not None
    engine._use_buffers()
    connection = ctypes.c_void_p.from_address(id(engine.tls._sslobj) + _PLACE_OF_POINTER)  # type: ignore[attr-defined]
    assert library.SSL_key_update(connection, _UPDATE_REQUESTED) == 1
    assert library.SSL_do_handshake(connection) == 1
    ends.client.raw.write(engine.take_output())


class PausingApp(App):
    """Does not read while it cannot write, as a connection of the broker."""

    def pause_writing(self) -> None:
        super().pause_writing()
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.transport.resume_reading()


def test_client_that_does_not_read_the_answers_to_its_key_updates_is_not_read_until_it_does() -> None:
    library, ends = openssl(), Ends(window=5_000, server_app=PausingApp())
    ends.carry()
    count = 0
    while ends.server.raw.is_read:
        ask_for_new_keys(ends, library)
        ends.server.receive(ends.client.raw.take(1 << 30))
        count += 1
        assert count < 1_000
    assert len(ends.server.raw.sent) > 4_000
    assert ends.server.tls.get_write_buffer_size() < 100
    ends.client.tls.write(b"request")
    ends.carry()
    ends.server.tls.write(b"response")
    ends.carry()
    assert (bytes(ends.server.app.received), bytes(ends.client.app.received)) == (b"request", b"response")
    assert ends.server.causes == []
