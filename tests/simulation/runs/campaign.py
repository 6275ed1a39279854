"""Runs many seeds in several processes and adds up their results.

By every tenth seed its cluster is run once more, with one fault alone: where as much goes wrong at a time as in a
seed's own run, nobody can say which fault it was that changed something.
"""

import gc
import json
import multiprocessing
import os
import time
import traceback
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path

from simulation.checkers.final_checker import EXCUSED
from simulation.runs.faults import FAULTS
from simulation.runs.simulation_run import Plan, Result, run_seed

__all__ = ["Summary", "run_seeds"]

CPU_BUDGET_S = 1.0
"""What a seed may cost."""
ALONE_EVERY = 10
"""Of so many seeds, by one a fault is brought about alone, too; each fault in its turn."""

_GARBAGE_IS_SOUGHT_EVERY = 50_000
"""So many objects that are made and not freed."""

_ALONE = ("fired", "met", "changed")

_Run = tuple[Result, float]
"""With the seconds of CPU that it took."""


@dataclass
class Summary:
    """Totals over all seeds, of this run and of added runs. `cpu_s` is that of their own runs only.

    `alone`: under "fired", "met" and "changed", what faults came to by themselves.
    """

    seeds: int = 0
    cpu_s: float = 0.0
    slowest: tuple[float, int] = (0.0, -1)
    over_budget: list[int] = field(default_factory=list)
    """Seeds that took more than `CPU_BUDGET_S`, beside whatever else the machine did."""
    slowest_alone: tuple[float, int] = (0.0, -1)
    """Of those, when they were run again with nothing beside them."""
    longest: tuple[int, int] = (0, -1)
    """The most turns of the loop that a seed took, and which: unlike its CPU, the same on each machine."""
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
        """Run those seeds that cost too much with nothing beside them: a busy neighbour makes any work dearer."""
        for seed, cpu_s in _costs_alone(self.over_budget):
            self.slowest_alone = max(self.slowest_alone, (cpu_s, seed))

    def add_saved(self, path: Path) -> None:
        """Read what `save` wrote; empty without a file."""
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
        """How many of the partitions, and of the runs, have something excused, and why."""
        partitions = self.counts["partitions"]
        if not partitions:
            return
        yield f"{'what is excused':<96}{'partitions':>12}{'runs':>12}"
        for name, count in sorted(self.counts.items()):
            if name.startswith(EXCUSED):
                runs = self.counts[f"runs with {name}"]
                yield f"{name:<96}{count / partitions:>12.2%}{runs / max(self.seeds, 1):>12.2%}"


def run_seeds(seeds: Iterable[int], jobs: int, until_s: float | None = None) -> Iterator[_Run]:
    """Results as they come, with the CPU seconds each took. None begins after `until_s` (of `time.monotonic`).

    Whatever goes wrong in a seed is that seed's result; the others are run all the same.
    """
    left = iter(seeds)
    if jobs == 1:
        for seed in left:
            if until_s is not None and time.monotonic() > until_s:
                return
            yield from _runs_of(seed)
        return
    while (yield from _run_in_processes(left, jobs, until_s)):
        pass


def _run_in_processes(left: Iterator[int], jobs: int, until_s: float | None) -> Generator[_Run, None, bool]:
    """Whether a process died and the remaining seeds need new ones."""
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin_process) as executor:
        running: dict[Future[list[_Run]], int] = {}
        is_broken = False
        while True:
            while not is_broken and len(running) < 2 * jobs and (until_s is None or time.monotonic() < until_s):
                following = next(left, None)
                if following is None:
                    break
                running[_submitted(executor, following)] = following
            if not running:
                return is_broken
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                seed, error = running.pop(future), future.exception()
                is_broken = is_broken or isinstance(error, BrokenExecutor)
                yield from [(_broken_off(seed, error), 0.0)] if error is not None else future.result()


def _begin_process() -> None:
    """Imported objects stay, and a run keeps most objects it makes: frequent garbage collection costs a tenth of the
    time."""
    os.nice(5)
    gc.freeze()
    gc.set_threshold(_GARBAGE_IS_SOUGHT_EVERY)


def _costs_alone(seeds: list[int]) -> Iterator[tuple[int, float]]:
    """The CPU seconds of each, in a process that has run one before."""
    if seeds:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin_process) as executor:
            executor.submit(_cost, seeds[0]).result()
            for seed in seeds:
                yield seed, executor.submit(_cost, seed).result()


def _cost(seed: int) -> float:
    return _timed(seed, None)[1]


def _submitted(executor: ProcessPoolExecutor, seed: int) -> Future[list[_Run]]:
    try:
        return executor.submit(_runs_of, seed)
    except BrokenExecutor as error:  # a process died just now
        failed: Future[list[_Run]] = Future()
        failed.set_exception(error)
        return failed


def _runs_of(seed: int) -> list[_Run]:
    """The seed's own, and now and then one fault alone."""
    runs = [_timed(seed, None)]
    if seed % ALONE_EVERY == 0:
        names = list(FAULTS)
        runs.append(_timed(seed, Plan.of_seed(seed).with_one_fault(names[seed // ALONE_EVERY % len(names)])))
    return runs


def _timed(seed: int, plan: Plan | None) -> _Run:
    started_s = time.process_time()
    try:
        result = run_seed(seed, plan)
    except Exception as error:
        result = _broken_off(seed, error)
    return result, time.process_time() - started_s


def _broken_off(seed: int, error: BaseException) -> Result:
    """The report of a seed whose process died."""
    return Result(seed, "".join(("the run broke off\n", *traceback.format_exception(error))))
