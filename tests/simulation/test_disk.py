"""Tests of simulated files: the suite of real files, the effects of a crash, and disk faults."""

import errno
import os
from collections.abc import Callable
from random import Random

import pytest
from pybroker.storage.files.files import Files
from simulation.machines.disk import Disk, Loss
from simulation.machines.simulated_files import SimulatedFiles
from support.logs.files_suite import FilesSuite


class TestSimulatedFiles(FilesSuite):
    @pytest.fixture
    def files(self) -> Files:
        return a_file_system(Disk(Random(1)))

    @pytest.fixture
    def root(self) -> str:
        return "/root"


def a_file_system(disk: Disk) -> SimulatedFiles:
    files = SimulatedFiles(disk)
    files.make_directory("/root")
    return files


def crashed(disk: Disk, loss: Loss) -> tuple[SimulatedFiles, dict[str, int]]:
    lost = disk.crash(loss)
    return SimulatedFiles(disk), lost


def test_synced_bytes_survive_a_crash_that_takes_all_others() -> None:
    disk = Disk(Random(1))
    files = a_file_system(disk)
    file = files.open("/root/a", create=True)
    file.write_at(0, b"abc")
    file.sync()
    files.sync_directory("/root")
    file.write_at(3, b"def")
    files.write_bytes("/root/b", b"new")
    files, lost = crashed(disk, Loss.ALL)
    assert files.read_bytes("/root/a") == b"abc"
    assert not files.exists("/root/b")
    assert lost == {"/root/a": 3, "/root/b": 0}


def test_file_has_its_last_synced_name_after_a_crash() -> None:
    disk = Disk(Random(1))
    files = a_file_system(disk)
    files.write_bytes("/root/a", b"abc")
    files.rename("/root/a", "/root/b")
    files.sync_directory("/root")
    files.rename("/root/b", "/root/c")
    files, _ = crashed(disk, Loss.ALL)
    assert [entry.name for entry in files.list_directory("/root")] == ["b"]
    assert files.read_bytes("/root/b") == b"abc"


def test_death_of_a_process_loses_no_written_bytes() -> None:
    disk = Disk(Random(1))
    files = a_file_system(disk)
    files.write_bytes("/root/a", b"abc", sync=False)
    files.open("/root/a").truncate(2)
    files, lost = crashed(disk, Loss.NOTHING)
    assert files.read_bytes("/root/a") == b"ab"
    assert lost == {}
    files, _ = crashed(disk, Loss.ALL)
    assert files.read_bytes("/root/a") == b"ab", "what a start finds is on the disk"


def test_crash_takes_any_part_of_unsynced_bytes_and_may_tear_the_last_write() -> None:
    left = set()
    for seed in range(200):
        disk = Disk(Random(seed))
        files = a_file_system(disk)
        files.write_bytes("/root/a", b"")
        files.sync_directory("/root")
        file = files.open("/root/a")
        file.write_at(0, b"ab")
        file.write_at(2, b"cd")
        files, _ = crashed(disk, Loss.SOME)
        left.add(files.read_bytes("/root/a"))
    assert {b"", b"ab", b"abcd", b"\0\0cd", b"abc", b"abc\0"} <= left


def test_crash_with_the_same_seed_loses_the_same_bytes() -> None:
    def remains(seed: int) -> tuple[bytes, dict[str, int]]:
        disk = Disk(Random(seed))
        files = a_file_system(disk)
        files.write_bytes("/root/a", b"")
        files.sync_directory("/root")
        file = files.open("/root/a")
        for number in range(20):
            file.write_at(number * 5, bytes([number] * 7))
        files, lost = crashed(disk, Loss.SOME)
        return files.read_bytes("/root/a"), lost

    assert [remains(seed) for seed in range(20)] == [remains(seed) for seed in range(20)]


def test_full_disk_refuses_growth_but_allows_overwriting_and_truncation() -> None:
    disk = Disk(Random(1))
    files = a_file_system(disk)
    file = files.open("/root/a", create=True)
    file.write_at(0, b"abc")
    disk.is_full = True
    writes: list[Callable[[], None]] = [lambda: file.write_at(2, b"cd"), lambda: files.create_empty("/root/b")]
    for write in writes:
        with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
            write()
    file.write_at(0, b"xyz")
    file.truncate(1)
    assert files.disk_space("/root").usable_bytes == 0
    disk.is_full = False
    file.write_at(1, b"!")
    assert files.read_bytes("/root/a") == b"x!"
    assert disk.counts["full"] == 2


def test_only_writes_and_syncs_below_the_failing_path_fail() -> None:
    disk = Disk(Random(1))
    files = a_file_system(disk)
    files.make_directory("/other")
    file = files.open("/root/a", create=True)
    disk.failing = "/root"
    uses: list[Callable[[], None]] = [lambda: file.write_at(0, b"a"), file.sync, lambda: files.sync_directory("/root")]
    for use in uses:
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            use()
    files.write_bytes("/other/a", b"a")


def test_slow_disk_spends_time_on_writes_and_syncs() -> None:
    disk = Disk(Random(1))
    file = a_file_system(disk).open("/root/a", create=True)
    before_s = disk.spent_s
    file.write_at(0, b"a")
    assert disk.spent_s == before_s
    disk.slow_s = 0.5
    file.write_at(0, b"a")
    assert disk.spent_s == before_s + 0.5


def test_files_of_a_crashed_machine_refuse_all_calls() -> None:
    now_ms = 5
    files = SimulatedFiles(Disk(Random(1)), lambda: now_ms)
    files.end()
    with pytest.raises(OSError, match="Bad file descriptor"):
        files.exists("/root")  # in the call in which it crashed
    now_ms += 1
    with pytest.raises(AssertionError):
        files.exists("/root")
