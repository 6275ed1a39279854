"""Tests that Java programs use the archive of their classes if there is one."""

from pathlib import Path

import pytest
from support.processes.java import java_command

TOOL = "org.apache.kafka.tools.TopicCommand"


def options_with(archive: str, main_class: str, libs: Path) -> list[str]:
    """Returns the options of a command that name an archive, when only this one exists."""
    folder = libs.parent / "classes"
    folder.mkdir()
    (folder / archive).touch()
    return [option for option in java_command(main_class, libs=libs) if option.startswith("-XX:Shared")]


@pytest.mark.parametrize(
    ("archive", "main_class"),
    [
        ("broker.jsa", "kafka.Kafka"),
        ("broker.jsa", "kafka.admin.ConfigCommand"),
        ("tools.jsa", TOOL),
        ("zookeeper.jsa", "org.apache.zookeeper.server.quorum.QuorumPeerMain"),
    ],
)
def test_program_uses_the_archive_of_its_kind(archive: str, main_class: str, tmp_path: Path) -> None:
    expected = f"-XX:SharedArchiveFile={tmp_path / 'classes' / archive}"
    assert options_with(archive, main_class, tmp_path / "libs") == [expected]


def test_program_does_not_use_an_archive_of_another_kind_or_of_other_jars(tmp_path: Path) -> None:
    assert options_with("broker.jsa", TOOL, tmp_path / "libs") == []
    assert not [option for option in java_command("kafka.Kafka", libs=tmp_path / "a" / "b") if "Shared" in option]
