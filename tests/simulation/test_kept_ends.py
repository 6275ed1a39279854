"""Tests of the offset up to which a log is complete after a crash."""

from random import Random

import pytest
from pybroker.protocol.records.record import Record, build_batch
from simulation.checkers.kept_ends import kept_ends
from simulation.machines.disk import Disk, Loss
from simulation.machines.simulated_files import SimulatedFiles

DIRECTORY = "/t-0"
SEGMENT = f"{DIRECTORY}/{5:020}.log"
NEXT_SEGMENT = f"{DIRECTORY}/{7:020}.log"


@pytest.fixture
def disk() -> Disk:
    return Disk(Random(1))


@pytest.fixture
def files(disk: Disk) -> SimulatedFiles:
    """One segment with offsets 5 (synced) and 6, and a second one that begins at 7 and is not synced."""
    files = SimulatedFiles(disk)
    files.make_directory(DIRECTORY)
    first, second, third = (build_batch([Record(offset, 0, None, b"value")]) for offset in (5, 6, 7))
    file = files.open(SEGMENT, create=True)
    file.write_at(0, first)
    file.sync()
    file.write_at(len(first), second)
    files.open(NEXT_SEGMENT, create=True).write_at(0, third)
    files.sync_directory("/")
    files.sync_directory(DIRECTORY)
    return files


def ends_after_a_crash(disk: Disk) -> dict[tuple[str, int], int]:
    return kept_ends(disk, disk.crash(Loss.ALL))


def test_log_is_complete_up_to_the_first_lost_bytes(disk: Disk, files: SimulatedFiles) -> None:
    assert ends_after_a_crash(disk) == {("t", 0): 6}


def test_segment_whose_deletion_was_not_synced_exists_again_after_a_crash(disk: Disk, files: SimulatedFiles) -> None:
    files.rename(SEGMENT, f"{SEGMENT}.deleted")
    assert ends_after_a_crash(disk) == {("t", 0): 6}


def test_deleted_segment_that_stays_deleted_is_no_loss(disk: Disk, files: SimulatedFiles) -> None:
    files.rename(SEGMENT, f"{SEGMENT}.deleted")
    files.sync_directory(DIRECTORY)
    assert ends_after_a_crash(disk) == {("t", 0): 7}
