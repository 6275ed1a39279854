"""Real files whose opening or writing waits until a test lets it go on."""

import math
import threading
from collections.abc import Callable, Sequence

from pybroker.base.buffer import Buffer
from pybroker.storage.files.files import File, Files

__all__ = ["FilesHeldAtOpening", "FilesHeldAtWriting"]


class FilesHeldAtOpening(Files):
    """Opening a file for which ``is_held`` is true waits until ``may_pass`` is set; ``is_reached`` tells of it."""

    def __init__(self, is_held: Callable[[str], bool]) -> None:
        super().__init__()
        self._is_held = is_held
        self.is_reached = threading.Event()
        self.may_pass = threading.Event()

    def open(self, path: str, *, create: bool = False) -> File:
        if self._is_held(path):
            self.is_reached.set()
            self.may_pass.wait()
        return super().open(path, create=create)


class FilesHeldAtWriting(Files):
    """Writes to the segments of one log wait between `hold` and `release`; ``waiting`` counts those that do.

    Only appends that run in a worker may be held: the event loop would stand still.
    """

    def __init__(self, partition: str) -> None:
        super().__init__()
        self._partition = partition
        self._changed = threading.Condition()
        self._allowed: float = math.inf
        self.waiting = 0

    def hold(self) -> None:
        self._allowed = 0

    def let_pass(self, count: float) -> None:
        """Let the next ``count`` writes go on."""
        with self._changed:
            self._allowed += count
            self._changed.notify_all()

    def release(self) -> None:
        self.let_pass(math.inf)

    def open(self, path: str, *, create: bool = False) -> File:
        file = super().open(path, create=create)
        if f"/{self._partition}/" not in path or not path.endswith(".log"):
            return file
        return _HeldFile(file.release(), self)

    def wait(self) -> None:
        with self._changed:
            if not self._allowed:
                assert threading.current_thread() is not threading.main_thread(), "this append runs on the event loop"
                self.waiting += 1
                self._changed.wait_for(lambda: self._allowed)
                self.waiting -= 1
            self._allowed -= 1


class _HeldFile(File):
    __slots__ = ("_files",)

    def __init__(self, descriptor: int, files: FilesHeldAtWriting) -> None:
        super().__init__(descriptor)
        self._files = files

    def write_at(self, position: int, data: Buffer) -> None:
        self._files.wait()
        super().write_at(position, data)

    def write_vector_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        self._files.wait()
        super().write_vector_at(position, buffers)
