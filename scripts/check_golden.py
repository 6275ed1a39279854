"""Checks pybroker's protocol against a folder of golden frames. scripts/check-golden runs it in the project's
environment.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.golden import check_line, golden_files, read_lines  # noqa: E402 - needs the path above

SHOWN_PER_FILE = 10
SHOWN_CHARACTERS = 600


def check_file(path: Path) -> tuple[int, list[str]]:
    """Returns the number of lines checked and a list of failures. A line that raises in the check is a failure."""
    count, complaints = 0, []
    try:
        for line in read_lines(path):
            count += 1
            try:
                complaints += check_line(line)
            except Exception as error:
                complaints.append(f"line {count}: {type(error).__name__}: {error}")
    except (OSError, EOFError, ValueError) as error:
        complaints.append(f"cannot be read after {count} lines: {error}")
    if not count and not complaints:
        complaints.append("has no lines")
    return count, complaints


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="check-golden", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "tests" / "reference" / "golden")
    folder = parser.parse_args(arguments).folder
    if not folder.is_dir():
        print(f"check-golden: {folder} is not a folder", file=sys.stderr)
        return 2
    files = golden_files(folder)
    if not files:
        print(f"check-golden: {folder} has no .jsonl or .jsonl.gz files", file=sys.stderr)
        return 2
    total, failed = 0, 0
    for path in files:
        count, complaints = check_file(path)
        total, failed = total + count, failed + bool(complaints)
        print(f"{path.name}: {count} checked" + (f", {len(complaints)} failures" if complaints else ""))
        for complaint in complaints[:SHOWN_PER_FILE]:
            print(f"  {complaint[:SHOWN_CHARACTERS]}")
        if len(complaints) > SHOWN_PER_FILE:
            print(f"  and {len(complaints) - SHOWN_PER_FILE} more")
    print(f"{total} lines in {len(files)} files; " + (f"{failed} files failed" if failed else "all well"))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
