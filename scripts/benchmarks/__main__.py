"""Runs `scripts/bench`: measures pybroker and Apache Kafka in turn, round by round, on this machine."""

import argparse
import os
import sys
import tempfile
import traceback
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from benchmarks import cluster, hostile, pipeline
from benchmarks.commands import COMMANDS
from benchmarks.console import CONSOLE
from benchmarks.contestants import CONTESTANTS, Contestant, compiled_too, cpu_seconds, resident_mib
from benchmarks.group_lag import GROUP_LAG
from benchmarks.group_rows.consumer_groups import CONSUMER_GROUPS
from benchmarks.group_rows.share_groups import SHARE_GROUPS
from benchmarks.machine import moment, others_percent
from benchmarks.metrics import METRICS
from benchmarks.page_cache import reserve_pages
from benchmarks.progress import progress
from benchmarks.record_walks import WALKS
from benchmarks.report import OTHER_WORK, TARGETS_MISSED, Figures, missed, report
from benchmarks.scenarios import SCENARIOS, Scenario
from benchmarks.secured import SECURED, secured_site
from benchmarks.security import SECURITY_SCENARIOS, SECURITY_WORKLOADS, warm_up_security
from benchmarks.storage_rows.compaction import STORAGE
from benchmarks.storage_rows.memory import MEMORY
from benchmarks.storage_rows.random_reads import READS
from benchmarks.storage_rows.starts import STARTS
from benchmarks.targets import Target, at_most
from benchmarks.testkit import TEST_KIT
from benchmarks.transactional_ids import TRANSACTIONAL_IDS
from benchmarks.transactions import TRANSACTION_WORKLOADS
from benchmarks.workloads import DONE, WORKLOADS, Site, Workload, warm_up

ROUNDS = 3
SCALE = 1.0
HOSTILE = "hostile"
CLUSTER = "cluster"
PIPELINE = "pipeline"
_MEMORY_AFTER = "memory after it all"
_MEMORY_AFTER_TARGET = at_most("MiB", 150)
ALL_SCENARIOS = (
    *SCENARIOS,
    *STORAGE,
    *WALKS,
    *STARTS,
    *READS,
    *MEMORY,
    *TRANSACTIONAL_IDS,
    *CONSUMER_GROUPS,
    *SHARE_GROUPS,
    *GROUP_LAG,
    *METRICS,
    *CONSOLE,
    *COMMANDS,
    *TEST_KIT,
    *SECURITY_SCENARIOS,
)


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description=__doc__,
        epilog=(
            "Other benchmarks: scripts/bench cluster --help (three brokers each), scripts/bench pipeline --help (Spark)"
        ),
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="rounds of both brokers (default 3)")
    parser.add_argument(
        "--scale", type=float, default=SCALE, help="share of each row's records and seconds (default 1)"
    )
    parser.add_argument(
        "--only",
        default="",
        help=(
            f"run only rows whose name contains this text; {HOSTILE}: the cost of attacks, without rounds "
            "and without Kafka"
        ),
    )
    parser.add_argument("--list", action="store_true", help="print the names and targets of rows, then exit")
    options = parser.parse_args(arguments)
    if options.only == HOSTILE and options.rounds != ROUNDS:
        parser.error(f"--rounds can't be used with --only {HOSTILE}")
    return options


@contextmanager
def failures_recorded(row: str, failures: list[str]) -> Iterator[None]:
    """Prints the failure of a row and adds it to `failures`. Other rows still run."""
    try:
        yield
    except Exception as error:
        progress(traceback.format_exc())
        failures.append(f"{row}: {next(iter(str(error).splitlines()), type(error).__name__)}")


def run_workloads(
    contestant: Contestant,
    chosen: Sequence[Workload],
    scale: float,
    figures: Figures,
    failures: list[str],
    *,
    is_secured: bool = False,
) -> None:
    """Runs all rows against one broker process. Later rows find the topics of earlier ones, as in production."""
    if not chosen:
        return
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        broker, stop = contestant.start(Path(directory))
        try:
            site = secured_site(broker, scale) if is_secured else Site(broker.bootstrap_servers, scale)
            (warm_up_security if is_secured else warm_up)(site)
            for workload in chosen:
                progress(f"  {contestant.name}: {workload.name}")
                with failures_recorded(f"{workload.name} ({contestant.name})", failures):
                    run_workload(contestant, workload, site, broker.pid, Path(directory), figures)
            if not is_secured:
                add(figures, _MEMORY_AFTER, contestant.name, {"MiB": resident_mib(broker.pid)})
        finally:
            stop()


def run_workload(
    contestant: Contestant, workload: Workload, site: Site, pid: int, directory: Path, figures: Figures
) -> None:
    workload.prepare(site)
    os.sync()  # flush data of the previous row, so that this row does not wait for it
    reserve_pages(directory)
    before, used_before = moment((pid,)), cpu_seconds(pid)
    found = workload.run(site)
    used = cpu_seconds(pid) - used_before
    if DONE in found:  # the row lasts for a time, and each broker does as much as it can
        found["broker CPU ms of one"] = 1000 * used / found.pop(DONE)
    else:
        found["broker CPU s"] = used
    add(figures, workload.name, contestant.name, found)
    add(figures, OTHER_WORK, contestant.name, {"% of CPU": others_percent(before, moment((pid,)))})


def measured(
    workloads: Sequence[Workload],
    secured: Sequence[Workload],
    scenarios: Sequence[Scenario],
    rounds: int,
    scale: float,
    failures: list[str],
) -> Figures:
    """Measures all rows in all rounds. Adds a line to `failures` for each row that could not be measured."""
    figures: Figures = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    with compiled_too() if workloads else nullcontext(CONTESTANTS) as contestants:
        for number in range(rounds):
            turn = 1 if number % 2 == 0 else -1
            progress(f"round {number + 1}: {contestants[::turn][0].name} first")
            for contestant in contestants[::turn]:
                run_workloads(contestant, workloads, scale, figures, failures)
            for contestant in SECURED[::turn]:
                run_workloads(contestant, secured, scale, figures, failures, is_secured=True)
            for scenario in scenarios:
                with failures_recorded(scenario.name, failures):
                    run_scenario(scenario, CONTESTANTS[::turn], scale, figures)
    return figures


def run_scenario(scenario: Scenario, in_turn: Sequence[Contestant], scale: float, figures: Figures) -> None:
    progress(f"  {scenario.name}")
    for contestant, found in scenario.run(in_turn, scale).items():
        add(figures, scenario.name, contestant, found)


def add(figures: Figures, row: str, contestant: str, found: dict[str, float]) -> None:
    for name, value in found.items():
        figures[row][contestant][name].append(value)


def main(arguments: list[str]) -> int:
    if arguments[:1] == [CLUSTER]:
        return cluster.main(arguments[1:])
    if arguments[:1] == [PIPELINE]:
        return pipeline.main(arguments[1:])
    options = parse(arguments)
    if options.only == HOSTILE and not options.list:  # no comparison with Kafka
        return hostile.main(options.scale)
    workloads = [each for each in (*WORKLOADS, *TRANSACTION_WORKLOADS) if options.only in each.name]
    secured = [each for each in SECURITY_WORKLOADS if options.only in each.name]
    scenarios = [scenario for scenario in ALL_SCENARIOS if options.only in scenario.name]
    if not (workloads or secured or scenarios) and options.only != HOSTILE:
        print(
            f"scripts/bench: no row name contains {options.only!r}; scripts/bench --list prints the names",
            file=sys.stderr,
        )
        return 2
    targets: dict[str, Sequence[Target]] = {each.name: each.targets for each in (*workloads, *secured)}
    if workloads:
        targets |= {_MEMORY_AFTER: (_MEMORY_AFTER_TARGET,)}
    targets |= {scenario.name: scenario.targets for scenario in scenarios}
    if options.list:
        for name, wanted in targets.items():
            print(f"{name}: {'; '.join(f'{target.figure} {target}' for target in wanted)}")
        if options.only in ("", HOSTILE):
            print(f"{HOSTILE}: only with --only {HOSTILE}")
        return 0
    failures: list[str] = []
    figures = measured(workloads, secured, scenarios, options.rounds, options.scale, failures)
    print(report(figures, targets))
    for failure in failures:
        print(f"Failed: {failure}")
    return TARGETS_MISSED if failures or missed(figures, targets) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
