"""The real file system passes the same tests as the simulated ones."""

import os
import resource
from pathlib import Path

import pytest
from pybroker.storage.files import files as files_module
from pybroker.storage.files.files import Files, raise_descriptor_limit
from support.logs.files_suite import FilesSuite


class TestFiles(FilesSuite):
    @pytest.fixture
    def files(self) -> Files:
        return Files(100)

    @pytest.fixture
    def root(self, tmp_path: Path) -> str:
        return str(tmp_path)


def test_few_open_files_are_told_once_in_a_process(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(files_module, "_told_limits", set())
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (1024, 1024))
    raise_descriptor_limit()
    Files()
    assert caplog.messages == [
        "only 1024 files may be open (ulimit -n): log files will be closed and reopened as needed"
    ]


@pytest.mark.parametrize("use", ["open", "open_to_read", "read_bytes", "create_empty", "lock_directory"])
def test_pipe_in_the_place_of_a_file_is_refused_at_once(tmp_path: Path, use: str) -> None:
    """The opening of a pipe would wait for its other end."""
    pipe = tmp_path / ".lock"
    os.mkfifo(pipe)
    with pytest.raises(OSError, match="is a pipe, a socket or a device, not a file") as caught:
        getattr(Files(), use)(str(tmp_path if use == "lock_directory" else pipe))
    assert caught.value.filename == str(pipe)
