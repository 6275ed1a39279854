"""``pybroker log``, and a log directory after a clean stop."""

import shutil
from pathlib import Path

import pytest
from support.logs.log_tool import LogTool, write_broker_directory


@pytest.fixture
def log_tool(capsysbinary: pytest.CaptureFixture[bytes]) -> LogTool:
    """``pybroker log``, run in this process."""
    return LogTool(capsysbinary)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log directory of ours after a clean stop."""
    path = tmp_path_factory.mktemp("sound") / "data"
    write_broker_directory(path)
    return path


@pytest.fixture
def data(sound: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(sound, tmp_path / "data"))
