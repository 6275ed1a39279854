"""Runs many seeds in several processes and adds up their results.

The cluster of every tenth seed runs again with a single fault. A seed's own run has many faults at a time, so it
does not show which of them had an effect.
"""

import gc
import json
import multiprocessing
import os
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from simulation.checkers.final_checker import EXCUSED
from simulation.consumer_groups.group_plan import GroupPlan
from simulation.encryption.encrypted_run import encrypted_plan
from simulation.runs.faults import FAULTS
from simulation.runs.planned_run import run_planned
from simulation.runs.simulation_run import Plan, Result
from simulation.share_groups.share_plan import SharePlan
from simulation.transactions.transaction_run import TransactionPlan

__all__ = ["Summary", "run_seeds"]

CPU_BUDGET_S = 1.0
"""The CPU time that a seed may take, in seconds."""
ALONE_EVERY = 10
"""One of this many seeds is also run with a single fault; the faults take turns."""

_GARBAGE_IS_SOUGHT_EVERY = 50_000
"""The number of new objects between garbage collections."""

_ALONE = ("fired", "met", "changed")

_Run = tuple[Result, float]
"""A result and the CPU seconds of its run."""


@dataclass
class Summary:
    """Totals over all seeds, including added summaries. `cpu_s`: CPU time of the seeds' own runs. `alone`: effects
    of single faults, under "fired", "met" and "changed".
    """

    seeds: int = 0
    cpu_s: float = 0.0
    slowest: tuple[float, int] = (0.0, -1)
    over_budget: list[int] = field(default_factory=list)
    """Seeds that took more than `CPU_BUDGET_S` while other work ran on the machine."""
    slowest_alone: tuple[float, int] = (0.0, -1)
    """The slowest of these seeds when it was run again alone."""
    longest: tuple[int, int] = (0, -1)
    """The most loop iterations of a seed, and that seed. Unlike CPU time, the number is the same on each machine."""
    virtual_s: float = 0.0
    ranges: list[str] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    fired: Counter[str] = field(default_factory=Counter)
    met: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    alone: dict[str, Counter[str]] = field(default_factory=lambda: {what: Counter() for what in _ALONE})

    def add(self, result: Result, cpu_s: float) -> None:
        if result.violation is not None and result.seed not in self.failed:
            self.failed.append(result.seed)
        if result.plan.only_fault is not None:
            for what, counts in self.alone.items():
                counts.update(getattr(result, what))
            return
        self.seeds += 1
        self.cpu_s += cpu_s
        self.slowest = max(self.slowest, (cpu_s, result.seed))
        if cpu_s > CPU_BUDGET_S:
            self.over_budget.append(result.seed)
        self.longest = max(self.longest, (result.counts["turns"], result.seed))
        self.virtual_s += result.virtual_s
        self.fired += result.fired
        self.met += result.met
        self.changed += result.changed
        self.counts += result.counts

    def weigh_again(self) -> None:
        """Run the expensive seeds again with no other work beside them, which would make them slower."""
        for seed, cpu_s in _costs_alone(self.over_budget):
            self.slowest_alone = max(self.slowest_alone, (cpu_s, seed))

    def add_saved(self, path: Path) -> None:
        """Read the file that `save` wrote; an empty summary if there is none."""
        if not path.exists():
            return
        saved = json.loads(path.read_text())
        self.seeds += saved["seeds"]
        self.cpu_s += saved["cpu_s"]
        self.slowest = max(self.slowest, tuple(saved["slowest"]))
        self.over_budget += saved["over_budget"]
        self.slowest_alone = max(self.slowest_alone, tuple(saved["slowest_alone"]))
        self.longest = max(self.longest, tuple(saved.get("longest", (0, -1))))
        self.virtual_s += saved["virtual_s"]
        self.ranges = saved["ranges"] + self.ranges
        self.failed += saved["failed"]
        for name in ("fired", "met", "changed", "counts"):
            getattr(self, name).update(saved[name])
        for what, counts in self.alone.items():
            counts.update(saved.get("alone", {}).get(what, {}))

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(vars(self), indent=1))

    def lines(self) -> Iterator[str]:
        yield f"{self.seeds} seeds ({', '.join(self.ranges)}), {self.virtual_s:.0f} virtual seconds"
        yield (
            f"{self.cpu_s:.0f} s of CPU: {self.cpu_s / max(self.seeds, 1):.2f} a seed, at most {self.slowest[0]:.2f} "
            f"(seed {self.slowest[1]}), {len(self.over_budget)} over {CPU_BUDGET_S:.0f} s "
            f"({len(self.over_budget) / max(self.seeds, 1):.1%})"
        )
        if self.over_budget:
            yield f"alone, those cost at most {self.slowest_alone[0]:.2f} (seed {self.slowest_alone[1]})"
        yield f"{self.longest[0]} turns of the loop at most (seed {self.longest[1]})"
        yield f"{'fault':<34}{'fired':>8}{'met':>8}{'changed':>8}{'alone:':>10}{'met':>8}{'changed':>8}"
        for name in sorted({*self.fired, *self.alone["fired"]}):
            fired, met, changed = (self.alone[what][name] for what in _ALONE)
            together = f"{name:<34}{self.fired[name]:>8}{self.met[name]:>8}{self.changed[name]:>8}"
            yield f"{together}{fired:>10}{met:>8}{changed:>8}"
        yield f"{'what happened':<58}{'times':>8}"
        for name, count in sorted(self.counts.items()):
            yield f"{name:<58}{count:>8}"
        yield from self._shares()
        yield f"failed: {sorted(self.failed) or 'none'}"

    def _shares(self) -> Iterator[str]:
        """The shares of partitions and of runs with an excuse, by reason."""
        partitions = self.counts["partitions"]
        if not partitions:
            return
        yield f"{'what is excused':<96}{'partitions':>12}{'runs':>12}"
        for name, count in sorted(self.counts.items()):
            if name.startswith(EXCUSED):
                runs = self.counts[f"runs with {name}"]
                yield f"{name:<96}{count / partitions:>12.2%}{runs / max(self.seeds, 1):>12.2%}"


def run_seeds(
    seeds: Iterable[int],
    jobs: int,
    until_s: float | None = None,
    *,
    with_transactions: bool = False,
    with_consumer_groups: bool = False,
    with_share_groups: bool = False,
    with_tls: bool = False,
) -> Iterator[_Run]:
    """Yields results as they complete, with the CPU seconds of each.

    ``with_transactions``: of runs of transactions. ``with_consumer_groups``: of runs of consumer groups.
    ``with_share_groups``: of runs of share groups. ``with_tls``: of runs over TLS.

    No seed begins after `until_s` (of `time.monotonic`). An exception in a run becomes that seed's result, and the
    other seeds still run.
    """
    left = iter(seeds)
    runs_of = _transaction_runs_of if with_transactions else _encrypted_runs_of if with_tls else _runs_of
    runs_of = _group_runs_of if with_consumer_groups else _share_runs_of if with_share_groups else runs_of
    if jobs == 1:
        for seed in left:
            if until_s is not None and time.monotonic() > until_s:
                return
            yield from runs_of(seed)
        return
    while (yield from _run_in_processes(left, jobs, until_s, runs_of)):
        pass


def _run_in_processes(
    left: Iterator[int], jobs: int, until_s: float | None, runs_of: Callable[[int], list[_Run]]
) -> Generator[_Run, None, bool]:
    """Returns whether a process died, so the remaining seeds need new ones."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin_process) as executor:
        running: dict[Future[list[_Run]], int] = {}
        is_broken = False
        while True:
            while not is_broken and len(running) < 2 * jobs and (until_s is None or time.monotonic() < until_s):
                following = next(left, None)
                if following is None:
                    break
                running[_submitted(executor, runs_of, following)] = following
            if not running:
                return is_broken
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                seed, error = running.pop(future), future.exception()
                is_broken = is_broken or isinstance(error, BrokenExecutor)
                yield from [(_broken_off(seed, error), 0.0)] if error is not None else future.result()


def _begin_process() -> None:
    """Prepare a process: a run keeps most of its objects, so frequent garbage collection would cost a tenth of the
    time.
    """
    os.nice(5)
    gc.freeze()
    gc.set_threshold(_GARBAGE_IS_SOUGHT_EVERY)


def _costs_alone(seeds: list[int]) -> Iterator[tuple[int, float]]:
    """The CPU seconds of each seed, in a process that has already run one."""
    if seeds:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin_process) as executor:
            executor.submit(_cost, seeds[0]).result()
            for seed in seeds:
                yield seed, executor.submit(_cost, seed).result()


def _cost(seed: int) -> float:
    return _timed(seed, None)[1]


def _submitted(executor: ProcessPoolExecutor, runs_of: Callable[[int], list[_Run]], seed: int) -> Future[list[_Run]]:
    try:
        return executor.submit(runs_of, seed)
    except BrokenExecutor as error:  # a process has just died
        failed: Future[list[_Run]] = Future()
        failed.set_exception(error)
        return failed


def _runs_of(seed: int) -> list[_Run]:
    """The seed's own run, and for some seeds a run with a single fault."""
    runs = [_timed(seed, None)]
    if seed % ALONE_EVERY == 0:
        names = list(FAULTS)
        runs.append(_timed(seed, Plan.of_seed(seed).with_one_fault(names[seed // ALONE_EVERY % len(names)])))
    return runs


def _transaction_runs_of(seed: int) -> list[_Run]:
    return [_timed(seed, TransactionPlan.of_seed(seed))]


def _group_runs_of(seed: int) -> list[_Run]:
    return [_timed(seed, GroupPlan.of_seed(seed))]


def _share_runs_of(seed: int) -> list[_Run]:
    return [_timed(seed, SharePlan.of_seed(seed))]


def _encrypted_runs_of(seed: int) -> list[_Run]:
    return [_timed(seed, encrypted_plan(seed))]


def _timed(seed: int, plan: Plan | None) -> _Run:
    started_s = time.process_time()
    try:
        result = run_planned(seed, plan or Plan.of_seed(seed))
    except Exception as error:
        result = _broken_off(seed, error)
    return result, time.process_time() - started_s


def _broken_off(seed: int, error: BaseException) -> Result:
    """The result of a seed whose run raised an exception or whose process died."""
    return Result(seed, "".join(("the run broke off\n", *traceback.format_exception(error))))
