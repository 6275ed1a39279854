"""Tells why a command failed, in one line: on standard error, or in the log if that is JSON."""

import logging
import sys

from ...base.printable import printable
from ..process.log_lines import logs_json

__all__ = ["tell_failure"]

logger = logging.getLogger(__name__)


def tell_failure(error: Exception) -> None:
    """Write the line."""
    text = " ".join(str(error).split("\n"))
    if logs_json():
        logger.critical("not started: %s", text)
    else:
        sys.stderr.write(f"pybroker: {printable(text)}\n")
