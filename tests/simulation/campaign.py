"""Many seeds, in several processes; what fails is run again with as few faults as still make it fail."""

import multiprocessing
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace

from simulation.simulation_run import Plan, Result, run_seed

__all__ = ["Summary", "run_seeds", "shortened", "useful_lines"]

_LINES = 120


@dataclass
class Summary:
    """Of all seeds that were run. `cpu_s` is that of the runs alone."""

    seeds: int = 0
    cpu_s: float = 0.0
    slowest: tuple[float, int] = (0.0, -1)
    virtual_s: float = 0.0
    failed: list[int] = field(default_factory=list)
    fired: Counter[str] = field(default_factory=Counter)
    felt: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, result: Result, cpu_s: float) -> None:
        self.seeds += 1
        self.cpu_s += cpu_s
        self.slowest = max(self.slowest, (cpu_s, result.seed))
        self.virtual_s += result.virtual_s
        self.fired += result.fired
        self.felt += result.felt
        self.counts += result.counts
        if result.violation is not None:
            self.failed.append(result.seed)

    def lines(self) -> Iterator[str]:
        yield (
            f"{self.seeds} seeds, {self.virtual_s:.0f} virtual seconds, {self.cpu_s:.0f} s of CPU "
            f"({self.cpu_s / max(self.seeds, 1):.2f} a seed, at most {self.slowest[0]:.2f}: seed {self.slowest[1]})"
        )
        yield f"{'fault':<34}{'fired':>8}{'felt':>8}"
        for name, count in sorted(self.fired.items()):
            yield f"{name:<34}{count:>8}{self.felt[name]:>8}"
        yield f"{'what happened':<34}{'times':>8}"
        for name, count in sorted(self.counts.items()):
            yield f"{name:<34}{count:>8}"
        yield f"failed: {sorted(self.failed) or 'none'}"


def run_seeds(seeds: Iterable[int], jobs: int, until_s: float | None = None) -> Iterator[tuple[Result, float]]:
    """Results as they come, with the CPU seconds each took. None begins after `until_s` (of `time.monotonic`)."""
    if jobs == 1:
        for seed in seeds:
            if until_s is not None and time.monotonic() > until_s:
                return
            yield _timed(seed)
        return
    left = iter(seeds)
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), os.nice, (5,)) as executor:
        running: set[Future[tuple[Result, float]]] = set()
        while True:
            while len(running) < 2 * jobs and (until_s is None or time.monotonic() < until_s):
                following = next(left, None)
                if following is None:
                    break
                running.add(executor.submit(_timed, following))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()


def _timed(seed: int) -> tuple[Result, float]:
    started_s = time.process_time()
    result = run_seed(seed)
    return result, time.process_time() - started_s


def shortened(seed: int) -> tuple[Plan, Result]:
    """A failing seed with as few faults as still make it fail."""
    plan = Plan.of_seed(seed)
    result = run_seed(seed, plan)
    for number in range(plan.fault_count):
        fewer = replace(plan, skipped=plan.skipped | {number})
        other = run_seed(seed, fewer)
        if other.violation is not None:
            plan, result = fewer, other
    return plan, result


def useful_lines(result: Result) -> list[str]:
    """The end of what happened, without the producers' daily work on partitions that the violation is not about."""
    violation = result.violation or ""
    kept = [line for line in result.lines if " producer" not in line.split(":", 1)[0] or _is_about(line, violation)]
    return kept[-_LINES:]


def _is_about(line: str, violation: str) -> bool:
    return any(word and word in violation for word in line.split()[2:3])
