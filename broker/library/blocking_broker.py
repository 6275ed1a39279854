"""A broker on an event loop in a thread, for code without an event loop."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

from ...config.config import Config
from ..clock.clocks import BlockingClock
from ..faults.faults import Faults
from ..test_kit.blocking_acts import BlockingActs
from .inspection.blocking_inspection import BlockingInspection
from .loop_thread import LoopOverError, LoopThread

if TYPE_CHECKING:
    from .broker import Broker

__all__ = ["BlockingBroker", "BrokerOnThread"]


class BrokerOnThread(BlockingInspection):
    """The broker and its thread, for classes that add to it. Methods block until they are done."""

    _broker: Broker

    def __init__(self, broker: Broker, thread: LoopThread) -> None:
        self._broker = broker
        self._thread = thread
        self.clock = BlockingClock(broker.clock)
        """Moves the broker's time; a restart does not move it back."""

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients; it stays the same after a restart."""
        return self._broker.bootstrap_servers

    @property
    def http_url(self) -> str | None:
        """The URL of the HTTP endpoint; None without ``pybroker.http.listeners``."""
        return self._broker.http_url

    @property
    def is_running(self) -> bool:
        """Whether clients can use the broker."""
        return self._broker.is_running

    @property
    def data_directory(self) -> Path:
        """The first of ``log.dirs``, with files in Kafka's layout."""
        return self._broker.data_directory

    @property
    def faults(self) -> Faults:
        """Faults for tests of clients, set from any thread; they stay over a restart."""
        return self._broker.faults

    @property
    def acts(self) -> BlockingActs:
        """Acts of tests on the broker, such as fencing a producer."""
        return BlockingActs(self._broker.acts, self._thread.call)

    @property
    def failure(self) -> Exception | None:
        """The error after which the broker could not go on and was killed; or None."""
        return self._broker.failure

    def start(self) -> None:
        """Start again after ``stop`` or ``kill``, with the same data and port. Raises StartError."""
        self._thread.call(self._broker.start())

    def stop(self) -> None:
        """As ``Broker.stop``; may be called from any thread, also during a start."""
        with contextlib.suppress(LoopOverError):  # and so is the broker
            self._thread.call(self._broker.stop())

    def kill(self) -> None:
        """As ``Broker.kill``."""
        self._broker.kill()

    def restart(self) -> None:
        """Stop if it runs, then start with the same data and port. Raises StartError."""
        self._thread.call(self._broker.restart())

    def __repr__(self) -> str:
        return repr(self._broker)


class BlockingBroker(BrokerOnThread):
    """The result of ``with Broker()``."""

    @property
    def config(self) -> Config:
        """The settings of the broker, with the chosen directory and ports."""
        return self._broker.config

    @property
    def ca_file(self) -> Path:
        """With ``tls=True``: the file with the certificate that clients must trust, in PEM."""
        return self._broker.ca_file
