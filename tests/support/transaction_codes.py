"""The recorded answers of Apache Kafka 3.9.1 to requests about transactions, and their line format.

A line has a state, a request, producers and the outcomes by version: `Empty | EndTxn commit | another id | v0-4: CODE`.
"""

import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

__all__ = ["RECORDED", "THEN", "Case", "by_version", "cases_in", "differences_of_pybroker", "recorded_cases"]

RECORDED = Path(__file__).parents[1] / "reference" / "transactions" / "codes.txt"
THEN = "CONCURRENT_TRANSACTIONS, then "
"""Before the outcome of a request that was repeated after the earlier transaction had ended."""
_PART = re.compile(r"v(\d+)(?:-(\d+))?: (.*)")


START_IN_MEMORY = "Kafka keeps the start of the last transaction of an Empty id until the next load of the partition"
VERIFIED = "Kafka 3.9 does not verify a batch of a newer epoch in an open transaction, Kafka 4 and pybroker do"
DIFFERENT: list[tuple[str, str, str, str, str]] = [
    ("Ongoing with records", "Produce *", "a newer epoch", "INVALID_PRODUCER_EPOCH", VERIFIED),
    ("Empty, fenced", "DescribeTransactions", "*", "Empty, epoch +2, start -1, 600000 ms, -", START_IN_MEMORY),
    ("Empty, fenced", "ListTransactions for 1 h", "*", "Empty", START_IN_MEMORY),
    ("*", "WriteTxnMarkers of *", "epoch -1", "INVALID_REQUEST", "Kafka fails with UNKNOWN_SERVER_ERROR"),
]
"""State, request, producer, outcome of pybroker, reason. An asterisk stands for any text."""


class Case(NamedTuple):
    """A request about a transactional id in a state, in the name of a producer."""

    situation: str
    request: str
    producer: str
    version: int


def by_version(outcomes: Mapping[int, str]) -> str:
    """`v0-1: one; v2-4: another`; neighbours with the same outcome are one range."""
    ranges: list[tuple[int, int, str]] = []
    for version, told in outcomes.items():
        if ranges and ranges[-1][2] == told:
            ranges[-1] = (ranges[-1][0], version, told)
        else:
            ranges.append((version, version, told))
    return "; ".join(f"v{first}{f'-{last}' if last > first else ''}: {told}" for first, last, told in ranges)


def cases_in(lines: Iterable[str]) -> dict[Case, str]:
    """The outcome of each case."""
    found = {}
    for line in lines:
        situation, request, producers, outcomes = line.split(" | ")
        for part in outcomes.split("; "):
            match = _PART.fullmatch(part)
            assert match is not None, line
            for producer in producers.split(", "):
                for version in range(int(match[1]), int(match[2] or match[1]) + 1):
                    found[Case(situation, request, producer, version)] = match[3]
    return found


def recorded_cases(situation: str) -> dict[Case, str]:
    """The outcomes of Kafka in one state."""
    lines = RECORDED.read_text(encoding="utf-8").splitlines()
    return cases_in(line for line in lines if line.split(" | ")[0] == situation)


def differences_of_pybroker(found: Mapping[Case, str], recorded: Mapping[Case, str]) -> list[str]:
    """A text for each case whose outcome is neither that of Kafka nor an allowed one.

    A request that meets the end of the earlier transaction waits for it in pybroker, so it is not refused first.
    """
    assert found.keys() == recorded.keys()
    return [
        f"{case}: Kafka {recorded[case]!r}, pybroker {told!r}"
        for case, told in found.items()
        if told.removeprefix(THEN) != recorded[case].removeprefix(THEN) and not _is_allowed(case, told)
    ]


def _is_allowed(case: Case, told: str) -> bool:
    return any(outcome == told and all(map(fnmatchcase, case[:3], patterns)) for *patterns, outcome, _ in DIFFERENT)
