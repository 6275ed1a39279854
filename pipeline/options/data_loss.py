"""What is done about records that were there once: `failOnDataLoss` decides."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)


class DataLossError(Exception):
    """Records that the query was to read are not there any more: they aged out, or the topic was deleted or cut."""


class DataLoss:
    """Raises, or warns and lets the query go on."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails

    def report(self, what: str) -> None:
        """Raises DataLossError with failOnDataLoss."""
        if self._fails:
            raise DataLossError(f"Data is lost: {what}. With the option failOnDataLoss=false the query goes on.")
        logger.warning("Data is lost: %s. The query goes on without it, as failOnDataLoss=false says.", what)
