"""``pybroker log verify``: checks log directories and prints the faults found, or a summary."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ....base.command_parser import BAD_INPUT, FAILED, CommandError, CommandParser
from ....storage.files.files import Files
from ....storage.segment.partition_files import NoLogError, live_partitions, read_partition_files
from ....storage.verify.fault import Fault, Findings
from ....storage.verify.log_directory_check import LogDirectoryCheck, Verified
from .block_output import BlockOutput
from .progress_bar import ProgressBar

__all__ = ["verify_command"]

_OPEN_FILES = 16

_DESCRIPTION = """\
Checks the files of log directories: checksums, order and count of records, index entries, leader epochs, producer
snapshots, transaction indexes, checkpoints. DIR is a log directory or a partition's directory. Nothing is changed.
The last segment may end inside a batch when the broker is running or was killed; that is no fault."""

_EPILOG = """\
examples:
  pybroker log verify data                a whole log directory
  pybroker log verify data/orders-*       the partitions of a topic
  pybroker log verify --shallow data      checksums and headers only, not each record

exit codes: 0 no fault, and one line says how much was checked; 1 faults, with a line for each that names the file, the
byte in it and the fault; 2 bad arguments"""


def verify_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, OSError, BrokenPipeError."""
    parser = CommandParser("pybroker log verify", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("directories", metavar="DIR", nargs="+", help="a log directory or a partition's directory")
    parser.add_argument("--shallow", action="store_true", help="do not decompress batches to check their records")
    options = parser.parse_args(arguments)
    files = Files(_OPEN_FILES)
    try:
        return _verify(files, options.directories, with_records=not options.shallow)
    except NoLogError as error:
        raise CommandError(str(error), BAD_INPUT) from None


def _verify(files: Files, directories: Sequence[str], *, with_records: bool) -> int:
    output = BlockOutput.standard()
    bar = ProgressBar(sys.stderr, sum(_size_of(files, directory) for directory in directories))

    def report(fault: Fault) -> None:
        bar.clear()
        output.line(str(fault))
        output.flush()

    found = Findings(report)
    check = LogDirectoryCheck(files, found, with_records=with_records, progress=bar.advance)
    verified = [check.run(directory) for directory in directories]
    found.close()
    bar.clear()
    if found.count == 0:
        output.line(_summary(verified))
    output.flush()
    return FAILED if found.count else 0


def _size_of(files: Files, directory: str) -> int:
    """Bytes of the `.log` files to check, without files that a running broker deletes meanwhile."""
    size = 0
    for partition in live_partitions(files, directory):
        try:
            size += sum(segment.size_bytes for segment in read_partition_files(files, partition).segments)
        except FileNotFoundError:
            continue
    return size


def _summary(verified: Sequence[Verified]) -> str:
    partitions = sum(one.partitions for one in verified)
    size = sum(one.record_bytes for one in verified)
    return f"{partitions} partition{'' if partitions == 1 else 's'} with {size / (1 << 20):.1f} MiB: no fault found"
