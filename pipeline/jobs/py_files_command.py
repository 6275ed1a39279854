"""The job `pybroker-pipeline py-files`: what spark-submit needs to run the other jobs."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from .arguments import JobParser, output_directory
from .command import BAD_INPUT, JobError, say

_ROOT = Path(__file__).resolve().parents[2]
_FOLDERS = ("base", "client", "config", "pipeline", "protocol", "storage")
"""The folders of the package that jobs import."""
ARCHIVE, PROGRAM = "pybroker.zip", "pybroker_pipeline.py"
_PROGRAM_TEXT = "from pybroker.pipeline.jobs.command import main\n\nraise SystemExit(main())\n"
_FIXED_TIME = (2000, 1, 1, 0, 0, 0)

_DESCRIPTION = f"""\
Writes {ARCHIVE} (this package) and {PROGRAM} into a directory, for machines that have Python and the packages of
the extra `spark`, but not pybroker:

  spark-submit --master spark://master:7077 --py-files {ARCHIVE} {PROGRAM} archive ..."""


def parser() -> JobParser:
    """Returns the parser of the job's arguments."""
    made = JobParser("py-files", _DESCRIPTION, with_session=False)
    made.add_argument("directory", metavar="DIR", type=output_directory)
    return made


def run(arguments: Sequence[str]) -> int:
    """Runs the job and returns its exit code. Raises JobError."""
    directory: Path = parser().parse_args(arguments).directory
    try:
        directory.mkdir(parents=True, exist_ok=True)
        count = write_archive(directory / ARCHIVE)
        (directory / PROGRAM).write_text(_PROGRAM_TEXT, encoding="utf-8")
    except OSError as error:
        raise JobError(f"{directory}: {error}", BAD_INPUT) from None
    say(f"{directory / ARCHIVE}: {count} files; {directory / PROGRAM}")
    return 0


def write_archive(file: Path) -> int:
    """Writes the package as a zip file, the same bytes for the same sources; returns its number of files. Raises
    OSError.
    """
    count = 0
    with zipfile.ZipFile(file, "w") as archive:
        for path in _sources():
            entry = zipfile.ZipInfo(f"pybroker/{path.relative_to(_ROOT).as_posix()}", _FIXED_TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, path.read_bytes())
            count += 1
    return count


def _sources() -> Iterator[Path]:
    yield _ROOT / "__init__.py"
    for folder in _FOLDERS:
        yield from sorted((_ROOT / folder).rglob("*.py"))
