"""Prints how long pybroker and Apache Kafka take to answer one request of each API in each kind of trouble.

docs/contributor/reliability.md sums the table up. scripts/answer-times runs it in the project's environment.
"""

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.load.answer_times import AnswerTime  # noqa: E402 - needs the path above
from support.load.kafka_times import store_kafka_times  # noqa: E402
from support.processes.troubled_cluster import Trouble, TroubledCluster  # noqa: E402

AT_ONCE_S = 0.095
"""Shorter times are those of a request that does not wait: 100 ms is the shortest wait."""
KINDS = ("pybroker", "kafka")
Times = dict[str, AnswerTime]


def measure(trouble: Trouble, kind: str) -> Times:
    with tempfile.TemporaryDirectory(prefix="answer-times-") as directory:
        cluster = TroubledCluster(Path(directory), trouble, is_kafka=kind == "kafka")
        try:
            cluster.start()
            times = cluster.times_without_internal_topics() + cluster.times_of_each_api()
        finally:
            cluster.close()
    return {time.name: time for time in times}


def seconds(time: float | None) -> str:
    return "-" if time is None else f"{0 if time < AT_ONCE_S else time:.1f}"


def shown(time: AnswerTime | None) -> str:
    """Seconds until the response, and in parentheses until the one behind it, where that differs."""
    if time is None:
        return ""
    first, behind = seconds(time.seconds), seconds(time.seconds_behind)
    return first if first == behind else f"{first} ({behind})"


def cell(found: dict[str, Times], name: str) -> str:
    """Empty when each kind of broker answers at once, or lacks the API."""
    times = [shown(found[kind].get(name)) for kind in found]
    return "" if set(times) <= {"", "0.0"} else " / ".join(times)


def table(found: dict[Trouble, dict[str, Times]]) -> list[str]:
    """Lines of Markdown. Requests with the same times share a row; requests that are answered at once lack one."""
    names = dict.fromkeys(name for kinds in found.values() for times in kinds.values() for name in times)
    rows: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        cells = tuple(cell(kinds, name) for kinds in found.values())
        if any(cells):
            rows.setdefault(cells, []).append(name)
    lines = [f"| {' | '.join(['request', *(trouble.value for trouble in found)])} |", "|---" * (1 + len(found)) + "|"]
    lines += [f"| {' | '.join(['; '.join(named), *cells])} |" for cells, named in rows.items()]
    return lines


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="answer-times", description=__doc__)
    parser.add_argument("--only", choices=[trouble.value for trouble in Trouble], help="one kind of trouble")
    parser.add_argument("--kind", choices=KINDS, help="one kind of broker")
    parser.add_argument("--all", action="store_true", help="print each time and the error codes, too")
    parser.add_argument("--store", action="store_true", help="store Kafka's times as the bounds of the tests")
    options = parser.parse_args(arguments)
    kinds = [options.kind] if options.kind else KINDS
    found: dict[Trouble, dict[str, Times]] = {}
    for trouble in Trouble:
        if options.only not in (None, trouble.value):
            continue
        found[trouble] = {}
        for kind in kinds:
            print(f"{trouble.value}: {kind}", file=sys.stderr)
            found[trouble][kind] = times = measure(trouble, kind)
            for time in times.values() if options.all else ():
                behind = seconds(time.seconds_behind)
                print(f"{kind:9} {trouble.value:40} {time.name:60} {seconds(time.seconds):>6} {behind:>6} {time.codes}")
    if options.store:
        store_kafka_times({state.value: found[state]["kafka"].values() for state in found if "kafka" in found[state]})
    print(f"Seconds: {' / '.join(kinds)}")
    print("\n".join(table(found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
