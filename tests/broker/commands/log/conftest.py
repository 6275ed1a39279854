import pytest
from support.logs.log_tool import LogTool


@pytest.fixture
def log_tool(capsysbinary: pytest.CaptureFixture[bytes]) -> LogTool:
    """``pybroker log``, run in this process."""
    return LogTool(capsysbinary)
