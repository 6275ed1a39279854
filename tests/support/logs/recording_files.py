"""A file system that records the calls to the operating system in order."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from pybroker.storage.files import files as files_module
from pybroker.storage.files.files import Files


class RecordingFiles(Files):
    """Real files. `calls` are (what, base name): write, sync (directories too), rename (to that name), delete.

    The calls are noted where they leave Python: what `Files` only seems to do is not there.
    """

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.calls: list[tuple[str, str]] = []
        self._paths: dict[int, str] = {}
        vector = getattr(files_module, "_write_vector")  # noqa: B009  (not a public name)
        synchronize = getattr(files_module, "_synchronize_data")  # noqa: B009
        patch.setattr(os, "pwrite", self._noting("write", os.pwrite))
        if vector is not None:
            patch.setattr(files_module, "_write_vector", self._noting("write", vector))
        patch.setattr(files_module, "_synchronize_data", self._noting("sync", synchronize))
        patch.setattr(os, "fsync", self._noting("sync", os.fsync))
        patch.setattr(os, "replace", self._noting("rename", os.replace, name=1))
        patch.setattr(os, "unlink", self._noting("delete", os.unlink))

    def _descriptor(self, path: str, flags: int) -> int:
        descriptor = super()._descriptor(path, flags)
        self._paths[descriptor] = path
        return descriptor

    def _noting(self, what: str, call: Callable[..., Any], name: int = 0) -> Callable[..., Any]:
        def noted(*arguments: Any) -> Any:
            result = call(*arguments)
            target = arguments[name]
            path = self._paths[target] if isinstance(target, int) else target
            self.calls.append((what, os.path.basename(path)))
            return result

        return noted

    def first(self, what: str, name: str) -> int:
        """The index of the first such call."""
        return self.calls.index((what, name))

    def last(self, what: str, name: str) -> int:
        """The index of the last such call."""
        return len(self.calls) - 1 - self.calls[::-1].index((what, name))
