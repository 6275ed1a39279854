"""Tests that log records of a test keep no objects open until its end."""

import gc
import logging
import socket
import weakref

import pytest


def test_log_record_does_not_keep_objects_of_the_traceback_alive(caplog: pytest.LogCaptureFixture) -> None:
    kept: list[weakref.ref[socket.socket]] = []

    def fail() -> None:
        unused = socket.socket()
        kept.append(weakref.ref(unused))
        raise ConnectionError("nobody is there")

    try:
        fail()
    except ConnectionError as error:
        logging.getLogger(__name__).error("failed: %s, that is %r", error, error)
    gc.collect()
    assert kept[0]() is None
    ours = [record.getMessage() for record in caplog.records if record.name == __name__]
    assert ours == ["failed: nobody is there, that is ConnectionError('nobody is there')"]
