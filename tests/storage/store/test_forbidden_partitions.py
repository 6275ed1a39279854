"""A partition whose directory or files the broker's user may not use is refused alone; the others are served."""

import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.errors import KafkaStorageError
from pybroker.storage.errors import NameTakenError
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, records_from
from support.logs.storage_pools import InlinePool
from support.processes.ordinary_user import as_ordinary_user

FORBIDDEN, OTHER, THIRD = (TopicPartition(topic, 0) for topic in ("forbidden", "other", "third"))
FIRST = f"{0:020d}"


def open_store(*directories: Path) -> LogStore:
    config = load_config(f"log.dirs={','.join(map(str, directories))}\n")
    return as_ordinary_user(lambda: LogStore.open(config, Files(), InlinePool(), lambda: NOW_MS))


def log_of(store: LogStore, tp: TopicPartition) -> Log:
    log = store.get(tp)
    assert log is not None
    return log


@pytest.fixture(params=["clean stop", "crash"])
def data(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The log directory of a store that has ended."""
    directory = tmp_path / "data"
    store = open_store(directory)
    for tp in (FORBIDDEN, OTHER):
        log = store.get_or_create(tp, is_new=True, topic_id=UUID(int=5))
        append_as_leader(log, batch_of(str(tp)), 0, NOW_MS)
        log.flush(NOW_MS)
    store.checkpoints.write_recovery_points()
    store.close() if request.param == "clean stop" else store.release()
    yield directory
    permit(directory)


def permit(directory: Path) -> None:
    """Let every user use the log directory, its contents and the targets of its links."""
    secret = directory.with_name("secret")
    if secret.exists():
        secret.chmod(0o755)
    for path in [directory, *directory.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


def mode(number: int, name: str = "") -> Callable[[Path], None]:
    def damage(partition: Path) -> None:
        (partition / name).chmod(number)

    damage.__name__ = f"{number:o}_{name or 'directory'}"
    return damage


def link_into_a_secret_directory(partition: Path) -> None:
    secret = partition.parent.with_name("secret")
    secret.mkdir()
    partition.rename(secret / partition.name)
    partition.symlink_to(secret / partition.name)
    secret.chmod(0)


DAMAGES = [
    (mode(0), ""),
    (mode(0o600), ""),
    (mode(0, f"{FIRST}.log"), f"/{FIRST}.log"),
    (mode(0, f"{FIRST}.index"), f"/{FIRST}.index"),
    (mode(0, f"{FIRST}.timeindex"), f"/{FIRST}.timeindex"),
    (mode(0, "leader-epoch-checkpoint"), "/leader-epoch-checkpoint"),
    (mode(0, "partition.metadata"), "/partition.metadata"),
    (link_into_a_secret_directory, ""),
]


@pytest.mark.parametrize(("damage", "place"), DAMAGES)
def test_partition_that_may_not_be_used_is_refused_and_the_others_are_served(
    data: Path, damage: Callable[[Path], None], place: str, caplog: pytest.LogCaptureFixture
) -> None:
    damage(data / str(FORBIDDEN))
    caplog.clear()
    store = open_store(data)
    assert store.directories.offline_paths() == []
    assert len(records_from(log_of(store, OTHER))) == 1
    assert store.get(FORBIDDEN) is None
    it = f"{data}/{FORBIDDEN}{place}" if place else "it"
    if damage is link_into_a_secret_directory:
        it = str(data.with_name("secret"))
    why = f"{data}/{FORBIDDEN}: no permission to use {it}; give it to the user of the broker (uid {os.geteuid()})"
    (line,) = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert line == (
        f"log directory {data}: 1 logs cannot be opened, the others are served; the first: {why}, and start again"
    )
    for is_new in (False, True):
        with pytest.raises(NameTakenError) as caught:
            as_ordinary_user(lambda is_new=is_new: store.get_or_create(FORBIDDEN, is_new=is_new))  # type: ignore[misc]
        assert str(caught.value) == f"{FORBIDDEN}: its log cannot be opened: {why}"
    assert as_ordinary_user(lambda: store.get_or_create(THIRD, is_new=True)).log_end_offset == 0
    assert store.directories.offline_paths() == []
    as_ordinary_user(store.close)
    permit(data)
    again = open_store(data)
    assert [len(records_from(log_of(again, tp))) for tp in (FORBIDDEN, OTHER)] == [1, 1]
    assert log_of(again, FORBIDDEN).recovery_point == 1
    again.close()


def test_partition_is_opened_on_request_when_its_permissions_are_right_again(data: Path) -> None:
    mode(0)(data / str(FORBIDDEN))
    store = open_store(data)
    permit(data)
    log = as_ordinary_user(lambda: store.get_or_create(FORBIDDEN, is_new=False))
    assert records_from(log) == [(0, str(FORBIDDEN).encode())]
    assert append_as_leader(log, batch_of("next"), 1, NOW_MS).first_offset == 1
    store.close()


@pytest.mark.parametrize("number", [0, 0o500])
def test_deleted_partition_that_may_not_be_used_stays_until_a_later_start(
    data: Path, number: int, caplog: pytest.LogCaptureFixture
) -> None:
    mode(number)(data / str(FORBIDDEN))
    store = open_store(data)
    told: list[object] = []
    as_ordinary_user(lambda: store.deletion.delete_log(FORBIDDEN, told.append))
    assert told == [None]
    (left,) = data.glob("*-delete")
    assert f"{left} cannot be deleted, the next start tries again: {left}: no permission to use it; give" in caplog.text
    assert as_ordinary_user(lambda: store.get_or_create(FORBIDDEN, is_new=True)).log_end_offset == 0
    assert store.directories.offline_paths() == []
    as_ordinary_user(store.close)
    permit(data)
    again = open_store(data)
    again.deletion.delete_leftovers()
    assert list(data.glob("*-delete")) == []
    again.close()


@pytest.mark.parametrize("number", [0, 0o500])
def test_new_partition_whose_directory_may_not_be_used_is_refused_alone(tmp_path: Path, number: int) -> None:
    store = open_store(tmp_path)
    (tmp_path / str(FORBIDDEN)).mkdir(mode=number)
    with pytest.raises(NameTakenError, match=r"cannot be created: .*: no permission to use it; give it to the user of"):
        as_ordinary_user(lambda: store.get_or_create(FORBIDDEN, is_new=True))
    assert store.directories.offline_paths() == []
    store.close()


def test_log_directory_that_may_not_be_used_fails_as_a_whole(tmp_path: Path) -> None:
    store = open_store(tmp_path / "a", tmp_path / "b")
    (tmp_path / "a").chmod(0o500)
    store.creation.prefer_directory(FORBIDDEN, str(tmp_path / "a"))
    with pytest.raises(KafkaStorageError):
        as_ordinary_user(lambda: store.get_or_create(FORBIDDEN, is_new=True))
    assert store.directories.offline_paths() == [str(tmp_path / "a")]
    store.close()
