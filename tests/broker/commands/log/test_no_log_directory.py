"""``pybroker log`` on folders that are no log directories."""

from pathlib import Path

import pytest
from support.logs.log_tool import LogTool


@pytest.mark.parametrize("tool", ["dump", "verify", "stat"])
def test_folders_named_like_partitions_are_told_from_a_log_directory_in_one_line(
    tool: str, tmp_path: Path, log_tool: LogTool
) -> None:
    for name in ("dbus-1", "polkit-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rules.conf").touch()
    ran = log_tool(tool, tmp_path)
    assert (ran.exit_code, ran.lines) == (2, [])
    assert ran.errors == [f"pybroker: {tmp_path} is neither a log directory nor one of a partition"]


@pytest.mark.parametrize("options", [(), ("--first-offset", "3")], ids=["all", "filtered"])
def test_dump_of_several_paths_prints_those_before_a_folder_that_is_no_log(
    options: tuple[str, ...], tmp_path: Path, log_tool: LogTool
) -> None:
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1\n")
    (tmp_path / "dbus-1").mkdir()
    ran = log_tool("dump", *options, tmp_path / "meta.properties", tmp_path / "dbus-1")
    assert ran.exit_code == 2
    assert "broker.id: 1" in " ".join(ran.lines)
    assert ran.errors == [f"pybroker: {tmp_path}/dbus-1 is neither a log directory nor one of a partition"]


def test_dump_prints_an_empty_log_directory_of_a_broker(tmp_path: Path, log_tool: LogTool) -> None:
    (tmp_path / "meta.properties").write_text("version=0\nbroker.id=1\n")
    ran = log_tool("dump", tmp_path)
    assert (ran.exit_code, ran.errors) == (0, [])
