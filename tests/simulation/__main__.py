"""Implements ``scripts/simulate``: runs seeds, then prints the failures and the effects of each fault."""

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from simulation.runs.campaign import Summary, run_seeds
from simulation.runs.shortening import retold
from simulation.runs.simulation_run import Result

_KINDS = ("transactions", "consumer-groups", "share-groups", "tls")
_TOLD = 3
"""Number of failed seeds that are run again for a report."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__)
    parser.add_argument("--seeds", required=True, help="A-B, or one number")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--transactions", action="store_true", help="run clusters with transactional clients")
    kinds.add_argument("--consumer-groups", action="store_true", help="run clusters with a consumer group (KIP-848)")
    kinds.add_argument("--share-groups", action="store_true", help="run clusters with a share group (KIP-932)")
    kinds.add_argument("--tls", action="store_true", help="run clusters whose connections use TLS")
    parser.add_argument("--minutes", type=float, help="begin no further seed after so long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one a core)")
    parser.add_argument("--lines", action="store_true", help="print all that happened in each seed")
    parser.add_argument("--tally", type=Path, help="a file: add this run's figures to those that are in it")
    given = parser.parse_args(arguments)
    seeds = seeds_of(given.seeds)
    if not seeds or given.jobs < 1:
        told = (
            f"--jobs {given.jobs}: at least 1" if seeds else f"--seeds {given.seeds}: A-B with A up to B, or one number"
        )
        print(f"scripts/simulate: {told}", file=sys.stderr)
        return 2
    until_s = None if given.minutes is None else time.monotonic() + given.minutes * 60
    summary = Summary()
    failed: list[Result] = []
    runs = run_seeds(
        seeds,
        given.jobs,
        until_s,
        with_transactions=given.transactions,
        with_consumer_groups=given.consumer_groups,
        with_share_groups=given.share_groups,
        with_tls=given.tls,
    )
    for result, cpu_s in runs:
        summary.add(result, cpu_s)
        if given.lines:
            print("\n".join([f"{_named(result)}:", *result.lines]))
        if result.violation is not None:
            failed.append(replace(result, lines=result.lines[:1]))
            print(f"{_named(result)} failed: {result.violation}", flush=True)
        elif summary.seeds % 100 == 0 and result.plan.only_fault is None:
            print(f"{summary.seeds} seeds, {len(summary.failed)} failed", file=sys.stderr, flush=True)
    failed.sort(key=lambda result: result.seed)
    for result in failed[:_TOLD]:
        print("\n".join(["", *retold(result)]), flush=True)
    for result in failed[_TOLD:]:
        kind = next((f" --{each}" for each in _KINDS if getattr(given, each.replace("-", "_"))), "")
        print(f"to see what happened: scripts/simulate{kind} --seeds {result.seed}")
    summary.ranges = [given.seeds if summary.seeds == len(seeds) else f"{summary.seeds} of {given.seeds}"]
    if not (given.transactions or given.consumer_groups or given.share_groups or given.tls):
        summary.weigh_again()
    if given.tally is not None:
        summary.add_saved(given.tally)
        summary.save(given.tally)
    print("\n".join(["", *summary.lines()]))
    return 1 if failed else 0


def _named(result: Result) -> str:
    fault = result.plan.only_fault
    return f"seed {result.seed}" if fault is None else f"seed {result.seed} with one fault alone ({fault})"


def seeds_of(text: str) -> range:
    """The seeds of ``"3-5"`` or ``"4"``; an empty range for other texts."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    return range(int(match[1]), int(match[2] or match[1]) + 1) if match else range(0)


if __name__ == "__main__":
    sys.exit(main())
