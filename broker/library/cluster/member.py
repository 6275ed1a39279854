"""A broker or the ZooKeeper of a cluster: it can be started, stopped, killed and paused, repeatedly."""

from abc import ABC, abstractmethod
from pathlib import Path

__all__ = ["Member"]


class Member(ABC):
    """Its directory contains its data, and its output in ``output.log``."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory

    @property
    def log_file(self) -> Path:
        """The output of all its runs."""
        return self.directory / "output.log"

    @property
    @abstractmethod
    def pid(self) -> int | None:
        """The process id; None while it does not run. Raises RuntimeError if it has no process of its own."""

    @property
    @abstractmethod
    def is_running(self) -> bool:
        """Whether it runs; also True while it is paused."""

    @property
    @abstractmethod
    def is_responsive(self) -> bool:
        """Whether it runs, and is not paused."""

    @abstractmethod
    def begin(self) -> None:
        """Start without waiting. Raises RuntimeError when it runs."""

    @abstractmethod
    def wait_until_ready(self) -> None:
        """Raises StartError when it ends before it is ready."""

    @abstractmethod
    def pause(self) -> None:
        """Let it do nothing; its connections stay. Raises RuntimeError when it does not run."""

    @abstractmethod
    def resume(self) -> None:
        """Harmless when it was not paused."""

    @abstractmethod
    def kill(self) -> None:
        """End it at once; returns when it has ended. Harmless when it does not run."""

    @abstractmethod
    def stop(self) -> None:
        """Resume and stop it; returns when it has ended. Harmless when it does not run."""

    def close(self) -> None:
        """End it for good."""
        self.kill()
