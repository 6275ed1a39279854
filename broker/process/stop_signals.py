"""Handles SIGTERM and SIGINT (Ctrl-C) in the process of a broker."""

import asyncio
import logging
import os
import signal
from collections.abc import Callable
from functools import partial
from typing import NoReturn

__all__ = ["StopSignals"]

logger = logging.getLogger(__name__)

_INTERRUPTED = 130  # the exit code that shells give to a process ended by SIGINT


class StopSignals:
    """The first signal requests a clean stop.

    During the start, which may take long with a recovery, a signal ends the process at once. So does Ctrl-C during a
    stop. The next start finds everything that was acknowledged.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, leave: Callable[[int], NoReturn] | Callable[[int], None] = os._exit
    ) -> None:
        self._leave = leave
        self._is_ready = False
        self.told = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, partial(self.hear, number))

    def ready(self) -> None:
        """Note that the start is complete."""
        self._is_ready = True

    def hear(self, number: signal.Signals) -> None:
        if not self._is_ready:
            logger.info("%s during the start: exiting at once", number.name)
            self._leave(_INTERRUPTED if number == signal.SIGINT else 0)
        elif not self.told.is_set():
            logger.info("%s: stopping", number.name)
            self.told.set()
        elif number == signal.SIGINT:
            logger.warning("SIGINT again: exiting at once; the next start will check the logs")
            self._leave(_INTERRUPTED)
