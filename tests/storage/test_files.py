"""The real file system passes the same tests as the simulated ones."""

from pathlib import Path

import pytest
from pybroker.storage.files.files import Files
from support.logs.files_suite import FilesSuite


class TestFiles(FilesSuite):
    @pytest.fixture
    def files(self) -> Files:
        return Files(100)

    @pytest.fixture
    def root(self, tmp_path: Path) -> str:
        return str(tmp_path)
