"""Repeats a failed run, reduces its faults to those needed for the failure, and selects the lines worth reading."""

from collections.abc import Iterator
from dataclasses import replace

from simulation.runs.planned_run import run_planned
from simulation.runs.simulation_run import Plan, Result
from simulation.transactions.seams import SeamPlan
from simulation.transactions.transaction_run import TransactionPlan

__all__ = ["retold", "shortened", "useful_lines"]

_LINES = 120


def retold(failed: Result) -> Iterator[str]:
    """The report of a failed run: its violation and the lines worth reading."""
    if not failed.lines:  # the process that ran it may have died
        yield f"seed {failed.seed} broke off, and is not run again here"
        return
    again = run_planned(failed.seed, failed.plan)
    if again.digest != failed.digest:
        yield f"seed {failed.seed} is another run now, which must not be: {again.violation or 'nothing is wrong'}"
    if again.violation is not None:
        short = shortened(again)
        yield f"seed {short.seed}, {short.plan}: {short.violation}"
        yield from useful_lines(short)


def shortened(failed: Result) -> Result:
    """Repeats the run without changes and with fewer faults while it fails; each fault that remains is needed for
    the failure.
    """
    shortest = failed
    while True:
        before = shortest.plan
        for number in range(before.fault_count):
            if number not in shortest.plan.skipped:
                fewer = shortest.plan.skipped | {number}
                shortest = _if_it_fails(replace(shortest.plan, skipped=fewer), shortest)
        if shortest.plan.change_count:
            shortest = _if_it_fails(replace(shortest.plan, change_count=0), shortest)
        if isinstance(shortest.plan, TransactionPlan) and shortest.plan.at_seams.count:
            shortest = _if_it_fails(replace(shortest.plan, at_seams=SeamPlan()), shortest)
        if shortest.plan == before:
            return shortest


def _if_it_fails(fewer: Plan, shortest: Result) -> Result:
    result = run_planned(shortest.seed, fewer)
    return shortest if result.violation is None else result


def useful_lines(result: Result) -> list[str]:
    """The last lines, without producers' routine lines about partitions that the violation does not name."""
    violation = result.violation or ""
    kept = [line for line in result.lines if " producer" not in line.split(":", 1)[0] or _is_about(line, violation)]
    return kept[-_LINES:]


def _is_about(line: str, violation: str) -> bool:
    """Whether the line begins with the batch that the violation names."""
    words = line.split()[2:3]
    return any(word.partition("+")[0].rstrip(":") in violation for word in words)
