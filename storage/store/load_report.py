"""The report of a start about the logs that it opened: a few lines, rather than one for each partition."""

from __future__ import annotations

import logging

logger = logging.getLogger(__name__)


class LoadReport:
    """Collects from any thread, until `write`."""

    def __init__(self) -> None:
        self.reindexed: list[str] = []
        """A line for each segment whose indexes were rebuilt."""
        self._without_space: dict[str, list[OSError]] = {}
        self._obstructed: dict[str, list[str]] = {}

    def lacks_space(self, log_directory: str, error: OSError) -> None:
        """Note a log that could not be opened, because the disk was full."""
        self._without_space.setdefault(log_directory, []).append(error)

    def is_obstructed(self, log_directory: str, obstacle: str) -> None:
        """Note a log that cannot be opened. `obstacle`: what `obstacle_at` returns."""
        self._obstructed.setdefault(log_directory, []).append(obstacle)

    def write(self) -> None:
        """Log one line about indexes, and one of each kind for each log directory."""
        if len(self.reindexed) > 1:  # with files of an old Kafka every segment needs this once
            logger.warning(
                "rebuilt the indexes of %d segments, as Kafka before 0.10.1 wrote them or damaged; the first: %s",
                len(self.reindexed),
                self.reindexed[0],
            )
        elif self.reindexed:
            logger.warning("%s", self.reindexed[0])
        for path, errors in self._without_space.items():
            logger.error(
                "log directory %s: %d logs cannot be opened until there is disk space; the first: %s",
                path,
                len(errors),
                errors[0],
            )
        for path, obstacles in self._obstructed.items():
            logger.error(
                "log directory %s: %d logs cannot be opened, the others are served; the first: %s, and start again",
                path,
                len(obstacles),
                obstacles[0],
            )
