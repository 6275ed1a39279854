"""``pybroker metadata copy`` refuses invalid copies in one line, before it changes anything."""

import errno
import os
import shutil
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.commands.command_line import main
from pybroker.config.config import METADATA_STORE_FILE
from pybroker.storage.files.files import Files


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The port of broker 3, which is down."""
    directory = tmp_path / "data"
    with Broker({"log.dirs": directory, "broker.id": "3"}):
        pass
    return directory


def refused(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    assert main(["metadata", *map(str, arguments)]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("pybroker: ")
    assert output.err.count("\n") == 1
    return output.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "a tool is missing; tools: copy"),
        (["move"], "move: unknown tool; tools: copy"),
        (["copy"], "--from, --to"),
        (["copy", "--from", "a:1/b", "--to", "a:1/b"], "a:1/b: --from and --to must differ"),
        (["copy", "--from", "/no/such", "--to", "localhost:1"], "/no/such: there is no such directory"),
        (["copy", "--from", ".", "--to", "localhost:1", "--config", "/no/such"], "/no/such: cannot be read"),
    ],
)
def test_metadata_copy_refuses_bad_arguments_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert words in refused(capsys, 2, *arguments)


def test_metadata_copy_refuses_a_directory_without_a_store(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").mkdir()
    error = refused(capsys, 2, "copy", "--from", tmp_path, "--to", tmp_path / "other")
    assert f"{tmp_path / METADATA_STORE_FILE}: there is no embedded store" in error


def test_metadata_copy_refuses_the_directory_of_a_running_broker(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Broker({"log.dirs": tmp_path}):
        assert f"log directory {tmp_path} is in use" in refused(
            capsys, 1, "copy", "--from", tmp_path, "--to", "localhost:1"
        )


def test_metadata_copy_refuses_a_directory_that_no_broker_has_used(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new").mkdir()
    error = refused(capsys, 1, "copy", "--from", data, "--to", tmp_path / "new")
    assert "no broker has used it" in error
    assert not (tmp_path / "new" / METADATA_STORE_FILE).exists()


def test_metadata_copy_refuses_the_directory_of_another_cluster(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Broker({"log.dirs": tmp_path / "other", "broker.id": "3"}):
        pass
    (tmp_path / "other" / METADATA_STORE_FILE).unlink()
    assert f"{tmp_path / 'other'} belongs to cluster" in refused(
        capsys, 1, "copy", "--from", data, "--to", tmp_path / "other"
    )


def test_metadata_copy_refuses_a_target_that_is_not_empty(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(data, tmp_path / "other")
    before = (tmp_path / "other" / METADATA_STORE_FILE).read_bytes()
    assert "is not empty" in refused(capsys, 1, "copy", "--from", data, "--to", tmp_path / "other")
    assert (tmp_path / "other" / METADATA_STORE_FILE).stat().st_size == len(before)


def test_metadata_copy_fails_when_zookeeper_is_unreachable(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "server.properties"
    settings.write_text("zookeeper.connection.timeout.ms=200\n")
    error = refused(capsys, 1, "copy", "--from", data, "--to", "127.0.0.1:1/kafka", "--config", settings)
    assert "no session with ZooKeeper at 127.0.0.1:1 within 200 ms" in error
    with Broker({"log.dirs": data}):  # it is as it was
        pass


def test_metadata_copy_copies_a_store_into_another_directory(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = shutil.copytree(data, tmp_path / "other")
    (other / METADATA_STORE_FILE).unlink()
    arguments = ["metadata", "copy", "--from", str(data), "--to", str(other)]
    assert main([*arguments, "--dry-run"]) == 0
    assert "would be copied" in capsys.readouterr().out
    assert not (other / METADATA_STORE_FILE).exists()
    assert main(arguments) == 0
    output = capsys.readouterr().out
    assert f"copied from the embedded store {data / METADATA_STORE_FILE} to" in output
    assert not (data / METADATA_STORE_FILE).exists()
    assert (data / f"{METADATA_STORE_FILE}.copied").exists()
    with Broker({"log.dirs": other}):
        pass


def test_metadata_copy_reports_a_copied_store_that_cannot_be_renamed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = shutil.copytree(data, tmp_path / "other")
    (other / METADATA_STORE_FILE).unlink()

    def refuse(files: Files, source: str, target: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), source)

    monkeypatch.setattr(Files, "rename", refuse)
    assert main(["metadata", "copy", "--from", str(data), "--to", str(other)]) == 1
    output = capsys.readouterr()
    assert "copied from" in output.out
    assert f"the copy is complete, but {data / METADATA_STORE_FILE} could not be renamed" in output.err
    assert output.err.count("\n") == 1
    assert (data / METADATA_STORE_FILE).exists()
    assert (other / METADATA_STORE_FILE).exists()
