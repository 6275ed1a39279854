"""Sets up logging, logs warnings about settings, then calls `broker_process.run`."""

import gc
import logging
from collections.abc import Callable

from ...config.config import Config
from ...config.notices import notices
from .allocator import return_large_blocks
from .log_lines import LOG_FORMATS, log_to_stderr

__all__ = ["LOG_FORMATS", "LOG_LEVELS", "Serve", "import_broker", "run_broker"]

logger = logging.getLogger(__name__)

LOG_LEVELS = ("debug", "info", "warning", "error")

Serve = Callable[[Config], int]
"""Runs a broker until it is told to stop, and returns the process's exit code."""


def run_broker(config: Config, log_level: str = "info", log_format: str = "text", *, serve: Serve | None = None) -> int:
    """Run a broker until it is told to stop; returns the exit code. Raises StartError, ConfigError.

    ``log_level`` is one of `LOG_LEVELS`, ``log_format`` of `LOG_FORMATS`. ``serve`` takes the place of
    `broker_process.run`.
    """
    log_to_stderr(log_level, log_format)
    return_large_blocks()
    for line in notices(config):
        logger.warning("%s", line)
    return (serve or import_broker())(config)


def import_broker() -> Callable[..., int]:
    """Import the broker and return `broker_process.run`; ``--print-config`` and bad input do without that import."""
    # The imports leave no garbage. Looking for some, now and in every later collection, takes a fifth of the start.
    gc.disable()
    from .broker_process import run

    gc.freeze()
    gc.enable()
    return run
