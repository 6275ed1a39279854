"""Prints how long pybroker and Apache Kafka take to answer one request of each API in each kind of trouble.

scripts/answer-times runs it in the project's environment.
"""

import argparse
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from support.load.answer_times import AnswerTime  # noqa: E402 - needs the path above
from support.processes.troubled_cluster import Trouble, TroubledCluster  # noqa: E402

SHOWN_FROM_S = 0.3
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


def shown(time: AnswerTime | None) -> str:
    """Seconds; "-": no response while the trouble lasted."""
    if time is None:
        return ""
    return "-" if time.seconds is None else f"{time.seconds:.1f}"


def cell(found: dict[str, Times], name: str) -> str:
    times = [found[kind].get(name) for kind in found]
    if all(time is None or (time.seconds is not None and time.seconds < SHOWN_FROM_S) for time in times):
        return ""
    return " / ".join(shown(time) for time in times)


def table(found: dict[Trouble, dict[str, Times]]) -> list[str]:
    """Lines of Markdown. Requests with the same times share a row; those that are answered at once have none."""
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
                behind = "-" if time.seconds_behind is None else f"{time.seconds_behind:.3f}"
                print(f"{kind:9} {trouble.value:20} {time.name:60} {shown(time):>6} {behind:>6} {time.codes}")
    print(f"Seconds: {' / '.join(kinds)}")
    print("\n".join(table(found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
