"""Measures the longest time that another client of a broker waits for a response."""

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pybroker.protocol.apis import ApiKey
from pybroker.protocol.messages.metadata import MetadataRequest

from benchmarks.wire import exchange

__all__ = ["longest_wait_during"]

_BETWEEN_REQUESTS_S = 0.001
_Result = TypeVar("_Result")


def longest_wait_during(port: int, act: Callable[[], _Result]) -> tuple[_Result, float]:
    """Returns the result of ``act``, and the longest wait meanwhile (ms) of a client of the plain listener. The client
    connects when the broker listens.
    """
    is_over = threading.Event()
    with ThreadPoolExecutor(1) as another:
        longest_ms = another.submit(_longest_wait_ms, port, is_over)
        try:
            result = act()
        finally:
            is_over.set()
    return result, longest_ms.result()


def _longest_wait_ms(port: int, is_over: threading.Event) -> float:
    longest = 0.0
    while not is_over.is_set():
        try:
            with socket.create_connection(("127.0.0.1", port)) as connection:
                _ask(connection)  # may wait for the end of the start
                while not is_over.wait(_BETWEEN_REQUESTS_S):
                    asked = time.monotonic()
                    _ask(connection)
                    longest = max(longest, time.monotonic() - asked)
        except ConnectionRefusedError:  # it does not listen yet
            time.sleep(_BETWEEN_REQUESTS_S)
    return longest * 1000


def _ask(connection: socket.socket) -> None:
    exchange(connection, ApiKey.METADATA, 4, MetadataRequest(topics=[]))
