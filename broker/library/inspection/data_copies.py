"""Copies the directories of a stopped broker, and puts copies back."""

import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

__all__ = ["DataCopies", "Snapshot"]


class Snapshot:
    """A copy of a broker's data. It is removed when the broker is closed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __repr__(self) -> str:
        return f"<Snapshot in {self.directory}>"


class DataCopies:
    """The copies of one broker. Blocks: use it on a worker thread while the broker is stopped."""

    def __init__(self) -> None:
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._count = 0

    def take(self, directories: Sequence[str]) -> Snapshot:
        """Copy the directories."""
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="pybroker-snapshots-")
        self._count += 1
        place = Path(self._temporary.name) / str(self._count)
        for number, directory in enumerate(directories):
            shutil.copytree(directory, place / str(number))
        return Snapshot(place)

    def put_back(self, snapshot: Snapshot, directories: Sequence[str]) -> None:
        """Replace the content of the directories. Raises ValueError for a copy that was removed."""
        if not snapshot.directory.is_dir():
            raise ValueError(f"{snapshot!r} was removed when its broker was closed")
        for number, directory in enumerate(directories):
            empty(directory)
            shutil.copytree(snapshot.directory / str(number), directory, dirs_exist_ok=True)

    def remove_all(self) -> None:
        """Remove every copy."""
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            temporary.cleanup()


def empty(directory: str) -> None:
    """Remove everything in a directory."""
    for path in Path(directory).iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
