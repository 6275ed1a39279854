"""Sets the levels of loggers, by log4j's names (KIP-412). Changes last until the process ends."""

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType

__all__ = ["LEVELS", "ROOT", "LoggerLevels"]

ROOT = "root"
LEVELS: Mapping[str, int] = MappingProxyType(
    {
        "TRACE": 5,
        "DEBUG": logging.DEBUG,
        "INFO": logging.INFO,
        "WARN": logging.WARNING,
        "ERROR": logging.ERROR,
        "FATAL": logging.CRITICAL,
    }
)
"""Python's levels by the names that clients send; Python has no TRACE."""


class LoggerLevels:
    """The loggers of this process, or of a test's ``manager``."""

    def __init__(self, manager: logging.Manager | None = None) -> None:
        self._manager = manager or logging.Logger.manager
        self._callbacks: list[Callable[[], None]] = []

    def when_changed(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` after each change of a level."""
        self._callbacks.append(callback)

    def levels(self) -> dict[str, str]:
        """The level in force of each logger, the root first."""
        return {ROOT: _name(self._manager.root.level)} | {
            name: _name(self._manager.getLogger(name).getEffectiveLevel()) for name in sorted(self._manager.loggerDict)
        }

    def exists(self, name: str) -> bool:
        """Whether a logger with this name, or below it, exists; the name may be a folder of the code."""
        return name == ROOT or name in self._manager.loggerDict

    def set(self, name: str, level: str) -> None:
        """Set the level, one of `LEVELS`."""
        self._change(name, LEVELS[level])

    def unset(self, name: str) -> None:
        """Let the logger use its parent's level."""
        self._change(name, logging.NOTSET)

    def _change(self, name: str, level: int) -> None:
        logger = self._manager.root if name == ROOT else self._manager.getLogger(name)
        logger.setLevel(level)
        for callback in self._callbacks:
            callback()


def _name(level: int) -> str:
    """The name of the highest level that is at most ``level``."""
    return next((name for name, number in reversed(list(LEVELS.items())) if number <= level), "TRACE")
