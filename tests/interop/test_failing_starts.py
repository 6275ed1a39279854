"""Every start that fails ends with exit code 1 and one line that names the file or setting, and the way out."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from pybroker import Broker
from support.processes.forked_process import Ended, run_forked
from support.processes.ports import free_port
from support.processes.small_disk import fill_up, small_disk

STORE = "__pybroker_metadata.db"
CHECKPOINTS = ("recovery-point-offset-checkpoint", "log-start-offset-checkpoint", "replication-offset-checkpoint")
ORDINARY_USER = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search,-net_bind_service")
"""For root: without the capabilities to open files whatever their permissions are, and to listen on low ports."""
LOWEST_FREE_PORT = Path("/proc/sys/net/ipv4/ip_unprivileged_port_start")


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
    words = ["--log-level", "error", *(part for setting in settings for part in ("--override", setting))]
    ended = started([*prefix, sys.executable, "-m", "pybroker", *words], cwd) if prefix else run_forked(words, cwd)
    assert ended.exit_code == 1, ended.output
    assert "Traceback" not in ended.output
    line = ended.output.strip().splitlines()[-1]
    assert line.startswith("pybroker: ")
    return line


def started(command: Sequence[str], cwd: Path) -> Ended:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=60)
    return Ended(done.returncode, done.stderr)


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


def parent_is_read_only(place: Place) -> None:
    parent = place.data.with_name("parent")
    parent.mkdir(mode=0o555)
    place.settings.append(f"log.dirs={parent}/data")


def meta_properties_is_secret(place: Place) -> None:
    place.use()
    (place.data / "meta.properties").chmod(0)


def make_read_only(place: Path) -> None:
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", place], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("file systems cannot be mounted here")
    UNDO.append(["umount", "-l", str(place)])


def directory_on_a_read_only_disk(place: Place) -> None:
    place.data.mkdir()
    make_read_only(place.data)


def store_on_a_read_only_disk(place: Place) -> None:
    disk = place.data.with_name("disk")
    disk.mkdir()
    make_read_only(disk)
    place.settings.append(f"metadata.store.path={disk}/store")


def make_immutable(path: Path) -> None:
    if subprocess.run(["chattr", "+i", path], capture_output=True, check=False).returncode:
        pytest.skip("this file system, or this user, knows no attributes")
    UNDO.append(["chattr", "-i", str(path)])


def directory_is_immutable(place: Place) -> None:
    place.data.mkdir()
    make_immutable(place.data)


def store_is_immutable(place: Place) -> None:
    place.use()
    make_immutable(place.store)


def directory_is_a_dangling_link(place: Place) -> None:
    place.data.symlink_to("nowhere/deep")


def store_is_a_dangling_link(place: Place) -> None:
    place.data.with_name("link").symlink_to("nowhere/store")
    place.settings.append("metadata.store.path=link")


def store_is_a_pipe(place: Place) -> None:
    os.mkfifo(place.data.with_name("pipe"))
    place.settings.append("metadata.store.path=pipe")


def log_of_the_store_is_a_directory(place: Place) -> None:
    place.use()
    Path(f"{place.store}-wal").mkdir()


def log_of_the_store_is_a_dangling_link(place: Place) -> None:
    place.use()
    Path(f"{place.store}-wal").symlink_to("/nowhere/log")


def in_place_of(name: str, make: Callable[[Path], None]) -> Callable[[Place], None]:
    def damage(place: Place) -> None:
        place.use()
        (place.data / name).unlink(missing_ok=True)
        make(place.data / name)

    damage.__name__ = f"{make.__name__}_in_place_of_{name}"
    return damage


def directory_is_locked(place: Place) -> None:
    broker = Broker({"log.dirs": str(place.data)})
    LEFT_OPEN.enter_context(broker)


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


def forbidden_port(place: Place) -> None:
    if not LOWEST_FREE_PORT.exists() or int(LOWEST_FREE_PORT.read_text()) <= 1:
        pytest.skip("any user may listen on any port")
    place.settings.append("listeners=PLAINTEXT://127.0.0.1:1")


def unknown_host(place: Place) -> None:
    place.settings.append("listeners=PLAINTEXT://no.such.host.invalid:0")


def no_zookeeper(place: Place) -> None:
    place.settings += [f"zookeeper.connect=127.0.0.1:{free_port()}", "zookeeper.connection.timeout.ms=300"]


def no_zookeeper_for_a_member(place: Place) -> None:
    place.data.mkdir()
    (place.data / "meta.properties").write_text("version=0\nbroker.id=1\ncluster.id=x\n")
    no_zookeeper(place)


def silent_zookeeper(place: Place) -> None:
    holder = socket.create_server(("127.0.0.1", 0))
    HOLDERS.append(holder)
    place.settings.append(f"zookeeper.connect=127.0.0.1:{holder.getsockname()[1]}")
    place.settings.append("zookeeper.connection.timeout.ms=300")


HOLDERS: list[socket.socket | subprocess.Popen[bytes]] = []
LEFT_OPEN = ExitStack()
UNDO: list[list[str]] = []
"""Commands that make files deletable again."""
NEEDS_AN_ORDINARY_USER = (
    store_is_read_only,
    directory_is_read_only,
    parent_is_read_only,
    meta_properties_is_secret,
    forbidden_port,
)
GIVE_IT = "give it to the user of the broker (uid "
ELSEWHERE = "), or set log.dirs (--override) to directories that this user (uid "
IMMUTABLE = "its attributes forbid changes (immutable or append-only, see lsattr); remove them (chattr -ia)"
PIPE = "is a pipe, a socket or a device, not a file; move it away"

FAILURES: list[tuple[Callable[[Place], None], tuple[str, ...]]] = [
    (
        no_store_directory,
        ("nowhere/store: ", "there is no directory", "create it, or change metadata.store.path (--override)"),
    ),
    (
        store_is_a_directory,
        ("it is a directory, not a file; move it away, or change metadata.store.path (--override)",),
    ),
    (store_is_no_database, (STORE, "file is not a database; restore the file from a backup")),
    (store_is_damaged, (STORE, "the database is damaged: ", "; restore the file from a backup")),
    (store_of_a_newer_version, (STORE, "version 99, this pybroker reads 2; start the pybroker that wrote it")),
    (store_without_the_cluster_id, ("/cluster/id: ", f"{STORE} is damaged: correct it, or restore a backup")),
    (
        store_is_locked,
        ("locked: another process uses", "stop that process, or set metadata.store.path (--override) to"),
    ),
    (store_is_missing, (f"{STORE} is missing", "Restore the file from a backup")),
    (store_is_read_only, (STORE, f"cannot be opened: no permission to use it; {GIVE_IT}")),
    (
        store_on_a_read_only_disk,
        ("disk is read-only; mount it for writing, or change metadata.store.path (--override)",),
    ),
    (store_is_immutable, (STORE, f"cannot be opened: {IMMUTABLE}, or change metadata.store.path")),
    (
        store_is_a_dangling_link,
        ("nowhere/store, and there is no directory", "nowhere; create it, or change metadata.st"),
    ),
    (store_is_a_pipe, (f"cannot be opened: it {PIPE}, or change metadata.store.path (--override)",)),
    (log_of_the_store_is_a_directory, (f"{STORE}-wal cannot be used: it is a directory, not a file; move it away",)),
    (log_of_the_store_is_a_dangling_link, (f"{STORE}-wal cannot be used: it is a link to /nowhere/log, and there",)),
    (directory_is_read_only, ("data (no permission to use it; ", GIVE_IT, ELSEWHERE)),
    (parent_is_read_only, ("parent/data (no permission to use /", "parent; ", GIVE_IT, ELSEWHERE)),
    (directory_on_a_read_only_disk, ("is read-only; mount it for writing", ELSEWHERE)),
    (directory_is_immutable, (f"data ({IMMUTABLE}", ELSEWHERE)),
    (directory_is_a_dangling_link, ("nowhere/deep, which is missing; create that, or correct the link", ELSEWHERE)),
    (directory_is_a_file, ("data (it is not a directory", ELSEWHERE)),
    (directory_is_locked, ("data is in use by another broker", "stop that broker, or change log.dirs (--override)")),
    (meta_properties_is_secret, ("(no permission to use ", "data/meta.properties; ", GIVE_IT, ELSEWHERE)),
    *(
        (in_place_of(name, os.mkfifo), (f"data/{name} {PIPE}", ELSEWHERE))
        for name in ("meta.properties", ".lock", *CHECKPOINTS)
    ),
    *(
        (in_place_of(name, os.mkdir), (f"data/{name} is a directory, not a file; move it away", ELSEWHERE))
        for name in ("meta.properties", *CHECKPOINTS)
    ),
    (meta_properties_without_a_version, ("data/meta.properties is corrupt: it has no version", "or delete it")),
    (meta_properties_of_kraft, ("meta.properties has version 1", "KRaft", "set log.dirs (--override) to another")),
    (meta_properties_with_a_bad_id, ("meta.properties is corrupt: broker.id=one", "or delete it: the start writes")),
    (
        directory_of_another_broker,
        (
            "meta.properties is of broker 5, this is broker 6; set broker.id (--override) to the id there, or change ",
            "log.dirs (--override)",
        ),
    ),
    (
        directory_of_another_cluster,
        (
            "meta.properties is of cluster ",
            "set metadata.store.path to the store of",
            "or log.dirs (--override) to anot",
        ),
    ),
    (directories_of_two_brokers, ("broker.id is 5 in ", "only the directories of one broker in log.dirs (--override)")),
    (log_in_two_directories, ("topic-0 is in two log directories", "move the outdated one out of its log directory")),
    (port_in_use, ("the address is in use", "stop what listens there, or change listeners (--override)")),
    (
        address_of_another_machine,
        (
            "192.0.2.1:0: this machine has no such address",
            "an address of this machine in listeners (--override), or no",
        ),
    ),
    (
        forbidden_port,
        ("127.0.0.1:1: permission denied", "name a port above 1023 in listeners (--override), or", "CAP_NET_BIND_SER"),
    ),
    (unknown_host, ("no.such.host.invalid:0: the name is unknown", "correct the name in listeners (--override), or")),
    (
        no_zookeeper,
        (
            "no session with ZooKeeper at 127.0.0.1:",
            "start ZooKeeper there, or correct zookeeper.connect (--override). A single broker needs no ZooKeeper: "
            "remove zookeeper.connect to run without it",
        ),
    ),
    (no_zookeeper_for_a_member, ("start ZooKeeper there, or correct zookeeper.connect (--override)",)),
    (
        silent_zookeeper,
        (
            " accepted the connection, but has not answered; ",
            "check that it is a ZooKeeper with a quorum, that zookeeper.connect (--override) names its port for c",
        ),
    ),
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
    LEFT_OPEN.close()
    while UNDO:
        subprocess.run(UNDO.pop(), check=True)


@pytest.mark.parametrize(("damage", "words"), FAILURES, ids=lambda each: getattr(each, "__name__", ""))
def test_failing_start_names_the_cause_and_the_way_out(
    place: Place, damage: Callable[[Place], None], words: tuple[str, ...]
) -> None:
    damage(place)
    prefix: Sequence[str] = ()
    if damage in NEEDS_AN_ORDINARY_USER and os.geteuid() == 0:
        if shutil.which(ORDINARY_USER[0]) is None:
            pytest.skip("root may do anything, and there is no setpriv")
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
    assert "or set log.dirs (--override) to directories" in line
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
    words = ["--override", f"zookeeper.connect=127.0.0.1:{free_port()}"]
    words += ["--override", "zookeeper.connection.timeout.ms=2500", "--override", "listeners=PLAINTEXT://127.0.0.1:0"]
    exit_code, output = run_forked(words, tmp_path)
    assert exit_code == 1
    *_, waiting, last = output.strip().splitlines()
    assert "waiting for a session with ZooKeeper at 127.0.0.1:" in waiting
    assert "for 2500 ms at most: [Errno 111] Connection refused" in waiting
    assert last.startswith("pybroker: no session with ZooKeeper")
