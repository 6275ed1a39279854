"""A table's files in a directory, without Spark; a writer can be killed at any step."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from pybroker.pipeline.archive.commit_reader import Listed

__all__ = ["BreakingFiles", "KilledError"]


class KilledError(Exception):
    """The job was killed."""


class BreakingFiles:
    """The files of a table in a directory. After `steps` changes, the next change kills the job."""

    def __init__(self, root: Path, steps: int = 1000) -> None:
        self._root = root
        self.steps = steps

    def exists(self, path: str) -> bool:
        return (self._root / path).exists()

    def list(self, path: str) -> Sequence[Listed]:
        found = [each for each in (self._root / path).rglob("*") if each.is_file()]
        return sorted(
            Listed(str(each.relative_to(self._root)), each.stat().st_size, round(each.stat().st_mtime * 1000))
            for each in found
        )

    def read_text(self, path: str) -> str:
        return (self._root / path).read_text()

    def write_text(self, path: str, text: str) -> None:
        target = self._root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_name(f".{target.name}.unfinished")
        unfinished.write_text(text[: len(text) // 2])
        self._step()
        unfinished.write_text(text)
        unfinished.rename(target)

    def move(self, source: str, target: str) -> None:
        self._step()
        (self._root / target).parent.mkdir(parents=True, exist_ok=True)
        (self._root / source).rename(self._root / target)

    def delete(self, path: str) -> None:
        if not self.exists(path):
            return
        self._step()
        whole = self._root / path
        if whole.is_dir():
            shutil.rmtree(whole)
        else:
            whole.unlink()

    def _step(self) -> None:
        if self.steps == 0:
            raise KilledError
        self.steps -= 1
