"""Runs transactions of stock clients on three pybrokers while brokers, ZooKeeper and clients fail, then audits them.

The audit: no aborted, early or partial read; every acknowledged commit is there once, in order, and whole; the copies
and their committed offsets are the committed input; no transaction is left open. Exits with 1 after a violation.
"""

import argparse
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import randrange

from transaction_audit.audit import Plan, audit
from transaction_audit.copier_test import CASES, play

_SHOWN = 40


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/audit-transactions", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="how long faults happen (default 10)")
    parser.add_argument("--seed", type=int, help="fixes the faults, as far as processes let that be")
    parser.add_argument("--copier", action="store_true", help="play Kafka's system test of transactions instead")
    parser.add_argument("--only", default="", help="with --copier: only cases whose name contains this text")
    parser.add_argument("--records", type=int, default=100_000, help="with --copier: how many (default 100000)")
    parser.add_argument("--keep", type=Path, help="keep data, journals and logs in this new directory")
    return parser.parse_args()


def run_audit(options: argparse.Namespace, directory: Path) -> list[str]:
    """Returns the violations."""
    seed = randrange(10**6) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    verdict = audit(Plan(seed, options.minutes), directory)
    for name, count in sorted(verdict.faults.items()):
        print(f"{count:5d} {name}")
    for violation in verdict.violations[:_SHOWN]:
        print(violation)
    print(verdict)
    return verdict.violations


def run_copier_test(options: argparse.Namespace, directory: Path) -> list[str]:
    """Returns what is wrong in the cases."""
    wrong = []
    for number, case in enumerate(each for each in CASES if options.only in str(each)):
        begun_s = time.monotonic()
        found = list(play(case, directory / str(number), options.records))
        result = "; ".join(found) or f"{options.records:,} records copied once and in order"
        print(f"{case}: {result} ({time.monotonic() - begun_s:.0f} s)", flush=True)
        wrong += found
    return wrong


def main() -> int:
    options = parse()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    directory = options.keep or Path(tempfile.mkdtemp(prefix="transaction-audit-"))
    violations = (run_copier_test if options.copier else run_audit)(options, directory)
    if violations:
        print(f"data, journals and logs: {directory}", file=sys.stderr)
    elif options.keep is None:
        shutil.rmtree(directory)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
