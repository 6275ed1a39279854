"""Tests that Java programs use the archive of their classes if there is one, and are compiled once."""

import subprocess
from pathlib import Path

import pytest
from support.processes.java import java_command
from support.processes.java_programs import java_compiler, java_program

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


def test_program_is_compiled_again_when_its_source_has_changed(tmp_path: Path) -> None:
    if java_compiler() is None:
        pytest.skip("no Java development kit on PATH")
    source = tmp_path / "Greeting.java"
    (tmp_path / "libs").mkdir()

    def run(greeting: str) -> str:
        text = 'class Greeting { public static void main(String[] names) { System.out.print("%s"); } }'
        source.write_text(text % greeting)
        java_program.cache_clear()
        command = java_program(source, tmp_path / "libs", tmp_path / "kept")
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert [run("hello"), run("hello"), run("goodbye")] == ["hello", "hello", "goodbye"]
    assert len(list((tmp_path / "kept").iterdir())) == 2
