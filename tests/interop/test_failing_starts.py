"""Every start that fails ends with exit code 1 and one line that names the file or setting, and the way out."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pybroker import Broker
from support.processes.ports import free_port
from support.processes.small_disk import fill_up, small_disk

STORE = "__pybroker_metadata.db"
ORDINARY_USER = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
"""For root: without the capability to open files whatever their permissions are."""


@dataclass
class Place:
    """The data directory of a start, and more settings for it."""

    data: Path
    settings: list[str]

    @property
    def store(self) -> Path:
        return self.data / STORE

    def use(self, **settings: str | float) -> None:
        """Let a broker use the directory, and stop it."""
        with Broker({"log.dirs": str(self.data), **settings}):
            pass


def start(*settings: str, cwd: Path, prefix: Sequence[str] = ()) -> str:
    """The line of a start that fails with exit code 1."""
    overrides = [part for setting in settings for part in ("--override", setting)]
    command = [*prefix, sys.executable, "-m", "pybroker", "--log-level", "error", *overrides]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("pybroker: ")
    return line


def no_store_directory(place: Place) -> None:
    place.settings.append("metadata.store.path=nowhere/store")


def store_is_a_directory(place: Place) -> None:
    place.settings.append("metadata.store.path=.")


def store_is_no_database(place: Place) -> None:
    place.use()
    place.store.write_bytes(b"no database" * 1000)


def store_is_damaged(place: Place) -> None:
    place.use()
    content = place.store.read_bytes()
    place.store.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


def store_of_a_newer_version(place: Place) -> None:
    place.use()
    connection = sqlite3.connect(place.store)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def store_without_the_cluster_id(place: Place) -> None:
    place.use()
    connection = sqlite3.connect(place.store)
    connection.execute("UPDATE znode SET data = 'no JSON' WHERE path = '/cluster/id'")
    connection.commit()
    connection.close()


def store_is_locked(place: Place) -> None:
    place.settings.append("metadata.store.path=locked")
    program = (
        "import sqlite3, sys\n"
        "connection = sqlite3.connect('locked')\n"
        "connection.execute('PRAGMA locking_mode = EXCLUSIVE')\n"
        "connection.execute('BEGIN EXCLUSIVE')\n"
        "print(flush=True)\n"
        "sys.stdin.read()\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", program], cwd=place.data.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    HOLDERS.append(holder)


def store_is_missing(place: Place) -> None:
    place.use()
    place.store.unlink()


def store_is_read_only(place: Place) -> None:
    place.use()
    place.store.chmod(0o444)


def directory_is_read_only(place: Place) -> None:
    place.data.mkdir(mode=0o555)


def directory_is_a_file(place: Place) -> None:
    place.data.write_text("no directory")


def meta_properties_without_a_version(place: Place) -> None:
    place.use()
    (place.data / "meta.properties").write_text("broker.id=1001\n")


def meta_properties_of_kraft(place: Place) -> None:
    place.data.mkdir()
    (place.data / "meta.properties").write_text("version=1\nnode.id=1\ncluster.id=x\n")


def meta_properties_with_a_bad_id(place: Place) -> None:
    place.use()
    (place.data / "meta.properties").write_text("version=0\nbroker.id=one\n")


def directory_of_another_broker(place: Place) -> None:
    place.use(**{"broker.id": 5})
    place.settings.append("broker.id=6")


def directory_of_another_cluster(place: Place) -> None:
    place.use()
    other = place.data.with_name("other")
    with Broker({"log.dirs": str(other)}):
        pass
    shutil.copy(other / STORE, place.store)


def directories_of_two_brokers(place: Place) -> None:
    place.use(**{"broker.id": 5})
    other = place.data.with_name("other")
    with Broker({"log.dirs": str(other), "broker.id": 6}):
        pass
    place.settings.append(f"log.dirs={place.data},{other}")


def log_in_two_directories(place: Place) -> None:
    other = place.data.with_name("other")
    place.use(**{"log.dirs": f"{place.data},{other}"})
    for directory in (place.data, other):
        (directory / "topic-0").mkdir()
    place.settings.append(f"log.dirs={place.data},{other}")


def port_in_use(place: Place) -> None:
    holder = socket.create_server(("127.0.0.1", 0))
    HOLDERS.append(holder)
    place.settings.append(f"listeners=PLAINTEXT://127.0.0.1:{holder.getsockname()[1]}")


def address_of_another_machine(place: Place) -> None:
    place.settings.append("listeners=PLAINTEXT://192.0.2.1:0")


def unknown_host(place: Place) -> None:
    place.settings.append("listeners=PLAINTEXT://no.such.host.invalid:0")


def no_zookeeper(place: Place) -> None:
    place.settings += [f"zookeeper.connect=127.0.0.1:{free_port()}", "zookeeper.connection.timeout.ms=300"]


def no_zookeeper_for_a_member(place: Place) -> None:
    place.data.mkdir()
    (place.data / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=x\n")
    no_zookeeper(place)


HOLDERS: list[socket.socket | subprocess.Popen[bytes]] = []

FAILURES: list[tuple[Callable[[Place], None], tuple[str, ...]]] = [
    (no_store_directory, ("nowhere/store: ", "there is no directory", "create it, or change metadata.store.path")),
    (store_is_a_directory, ("it is a directory; metadata.store.path must name a file",)),
    (store_is_no_database, (STORE, "file is not a database; restore the file from a backup")),
    (store_is_damaged, (STORE, "the database is damaged: ", "; restore the file from a backup")),
    (store_of_a_newer_version, (STORE, "version 99, this pybroker reads 1; start the pybroker that wrote it")),
    (store_without_the_cluster_id, ("/cluster/id: ", f"{STORE} is damaged: correct it, or restore a backup")),
    (
        store_is_locked,
        ("locked: another process uses", "stop that process, or set metadata.store.path (--override) to"),
    ),
    (store_is_missing, (f"{STORE} is missing", "Restore the file from a backup")),
    (store_is_read_only, (STORE, "cannot be opened: no permission to write", "give it to the user of the broker")),
    (directory_is_read_only, ("data (Permission denied)", "set log.dirs to directories that this user (uid ")),
    (directory_is_a_file, ("data (Not a directory)", "set log.dirs to directories")),
    (meta_properties_without_a_version, ("data/meta.properties is corrupt: it has no version", "or delete it")),
    (meta_properties_of_kraft, ("meta.properties has version 1", "KRaft", "set log.dirs to another directory")),
    (meta_properties_with_a_bad_id, ("meta.properties is corrupt: broker.id=one", "or delete it: the start writes")),
    (
        directory_of_another_broker,
        (
            "meta.properties is of broker 5, this is broker 6; set broker.id (--override) to the id there, or change ",
            "log.dirs (--override)",
        ),
    ),
    (directory_of_another_cluster, ("meta.properties is of cluster ", "set metadata.store.path to the store of")),
    (directories_of_two_brokers, ("broker.id is 5 in ", "log.dirs must name the directories of one broker")),
    (log_in_two_directories, ("topic-0 is in two log directories", "move the outdated one out of its log directory")),
    (port_in_use, ("the address is in use", "stop what listens there, or change listeners (--override)")),
    (address_of_another_machine, ("192.0.2.1:0: this machine has no such address", "or change listeners")),
    (unknown_host, ("no.such.host.invalid:0: the name is unknown", "or change listeners")),
    (
        no_zookeeper,
        (
            "no session with ZooKeeper at 127.0.0.1:",
            "start ZooKeeper there, or correct zookeeper.connect (--override). A single broker needs no ZooKeeper: "
            "remove zookeeper.connect to run without it",
        ),
    ),
    (no_zookeeper_for_a_member, ("start ZooKeeper there, or correct zookeeper.connect (--override)",)),
]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "data", [])
    yield made
    while HOLDERS:
        holder = HOLDERS.pop()
        if isinstance(holder, subprocess.Popen):
            holder.communicate(b"")
        else:
            holder.close()


@pytest.mark.parametrize(("damage", "words"), FAILURES, ids=lambda each: getattr(each, "__name__", ""))
def test_failing_start_names_the_cause_and_the_way_out(
    place: Place, damage: Callable[[Place], None], words: tuple[str, ...]
) -> None:
    damage(place)
    prefix: Sequence[str] = ()
    if damage in (store_is_read_only, directory_is_read_only) and os.geteuid() == 0:
        if shutil.which(ORDINARY_USER[0]) is None:
            pytest.skip("root may write whatever the permissions are, and there is no setpriv")
        prefix = ORDINARY_USER
    ordinary = ["listeners=PLAINTEXT://127.0.0.1:0", f"log.dirs={place.data}"]
    line = start(*ordinary, *place.settings, cwd=place.data.parent, prefix=prefix)
    for each in words:
        assert each in line


def test_member_of_a_cluster_is_not_told_to_run_without_zookeeper(place: Place) -> None:
    no_zookeeper_for_a_member(place)
    line = start(f"log.dirs={place.data}", "listeners=PLAINTEXT://127.0.0.1:0", *place.settings, cwd=place.data.parent)
    assert "A single broker" not in line


@pytest.mark.parametrize("store", ["in the directory", "elsewhere"])
@pytest.mark.parametrize("left_bytes", [0, 60_000])
def test_empty_log_directory_without_room_ends_the_start(tmp_path: Path, left_bytes: int, store: str) -> None:
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        data = disk / "data"
        data.mkdir()
        reserve = disk / "reserve"
        reserve.write_bytes(bytes(left_bytes))
        fill_up(disk / "fill")
        reserve.unlink()
        settings = [f"log.dirs={data}", "listeners=PLAINTEXT://127.0.0.1:0"]
        if store == "elsewhere":
            settings.append(f"metadata.store.path={tmp_path / 'store'}")
        line = start(*settings, cwd=tmp_path)
    assert f"no log directory can be used: {data} (no space left: " in line
    assert "set log.dirs to directories" in line
    assert "on disks with free space" in line


@pytest.mark.parametrize("store", ["in the directory", "elsewhere"])
@pytest.mark.parametrize("inodes", [2, 3, 6, 10])  # one for the root of the file system, one for the log directory
def test_empty_log_directory_without_inodes_ends_the_start(tmp_path: Path, inodes: int, store: str) -> None:
    with small_disk(tmp_path / "disk", 64 << 20, inodes) as disk:
        data = disk / "data"
        data.mkdir()
        settings = [f"log.dirs={data}", "listeners=PLAINTEXT://127.0.0.1:0"]
        if store == "elsewhere":
            settings.append(f"metadata.store.path={tmp_path / 'store'}")
        line = start(*settings, cwd=tmp_path)
        assert list(data.iterdir()) in ([], [data / ".lock"])
    assert f"no log directory can be used: {data} (" in line
    assert "on disks with free space" in line
    assert "no inodes are left" in line or inodes == 2


@pytest.mark.parametrize("inodes", [1, 2])  # one for the root of the file system, one for the store
def test_metadata_store_on_a_disk_without_inodes_ends_the_start(tmp_path: Path, inodes: int) -> None:
    with small_disk(tmp_path / "disk", 64 << 20, inodes) as disk:
        settings = [f"log.dirs={tmp_path / 'data'}", "listeners=PLAINTEXT://127.0.0.1:0"]
        line = start(*settings, f"metadata.store.path={disk / 'store'}", cwd=tmp_path)
    assert f"{disk / 'store'}: the metadata store cannot be written: no space left for another file" in line
    assert "free some space, or set metadata.store.path (--override) to a file on another disk" in line


def test_long_wait_for_zookeeper_is_explained_while_it_lasts(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pybroker", "--override", f"zookeeper.connect=127.0.0.1:{free_port()}"]
    command += ["--override", "zookeeper.connection.timeout.ms=2500", "--override", "listeners=PLAINTEXT://127.0.0.1:0"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    *_, waiting, last = done.stderr.strip().splitlines()
    assert "waiting for a session with ZooKeeper at 127.0.0.1:" in waiting
    assert "for 2500 ms at most: [Errno 111] Connection refused" in waiting
    assert last.startswith("pybroker: no session with ZooKeeper")
