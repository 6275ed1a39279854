"""``pybroker log`` on folders that are no log directories."""

from pathlib import Path

from support.logs.log_tool import LogTool


def test_verify_says_in_one_line_that_folders_named_like_partitions_are_no_log_directory(
    tmp_path: Path, log_tool: LogTool
) -> None:
    for name in ("dbus-1", "polkit-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rules.conf").touch()
    ran = log_tool("verify", tmp_path)
    assert (ran.exit_code, ran.lines) == (2, [])
    assert f"{tmp_path} is neither a log directory nor one of a partition" in ran.errors[0]
