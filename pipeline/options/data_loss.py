"""Handles records that no longer exist, as `failOnDataLoss` says."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)


class DataLossError(Exception):
    """Records of the query no longer exist: they expired, or the topic was deleted or truncated."""


class DataLoss:
    """Raises an error or logs a warning for each loss."""

    def __init__(self, fails: bool) -> None:
        self._fails = fails

    def report(self, what: str) -> None:
        """Reports a loss. Raises DataLossError if failOnDataLoss is true."""
        if self._fails:
            raise DataLossError(f"Data is lost: {what}. To continue without it, set the option failOnDataLoss=false.")
        logger.warning("Data is lost: %s. The query continues, because failOnDataLoss=false is set.", what)
