"""Runs `scripts/bench cluster`: three brokers of pybroker and three of Apache Kafka in turn, round by round."""

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cluster_rows import CLUSTER_ROWS, ClusterRow, warm_up_cluster
from benchmarks.clusters import CLUSTERS, Cluster, ClusterKind
from benchmarks.machine import moment, others_percent
from benchmarks.progress import progress
from benchmarks.report import OTHER_WORK, TARGETS_MISSED, Figures, missed, report

__all__ = ["main"]


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench cluster", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both clusters (default 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the records and partitions (default 1)")
    parser.add_argument("--only", default="", help="run only rows whose name contains this text")
    parser.add_argument(
        "--kind", choices=[kind.name for kind in CLUSTERS], help="measure only this kind of broker, without a ratio"
    )
    parser.add_argument("--list", action="store_true", help="print the names and targets of rows, then exit")
    return parser.parse_args(arguments)


def run_rows(kind: ClusterKind, chosen: Sequence[ClusterRow], scale: float, figures: Figures) -> None:
    """Runs all rows against one cluster. Later rows find the topics of earlier ones."""
    with tempfile.TemporaryDirectory(prefix="bench-", ignore_cleanup_errors=True) as directory:
        cluster = Cluster(kind, Path(directory) / kind.name)
        try:
            cluster.start()
            warm_up_cluster(cluster)
            for row in chosen:
                progress(f"  {kind.name}: {row.name}")
                before = moment(cluster.processes())
                found = row.run(cluster, scale)
                progress(f"    {', '.join(f'{name} {value:.2f}' for name, value in found.items())}")
                for name, value in found.items():
                    figures[row.name][kind.name][name].append(value)
                if "broker CPU s" in found:  # no broker was restarted during the row
                    others = others_percent(before, moment(cluster.processes()))
                    figures[OTHER_WORK][kind.name]["% of CPU"].append(others)
        finally:
            cluster.close()


def main(arguments: Sequence[str]) -> int:
    options = parse(arguments)
    chosen = [row for row in CLUSTER_ROWS if options.only in row.name]
    if options.list or not chosen:
        for row in chosen:
            print(f"{row.name}: {'; '.join(f'{target.figure} {target}' for target in row.targets)}")
        return 0 if chosen else 2
    kinds = [kind for kind in CLUSTERS if options.kind in (None, kind.name)]
    figures: Figures = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for number in range(options.rounds):
        in_turn = kinds if number % 2 == 0 else kinds[::-1]
        progress(f"round {number + 1}: {in_turn[0].name} first")
        for kind in in_turn:
            run_rows(kind, chosen, options.scale, figures)
    if len(kinds) < len(CLUSTERS):
        return 0
    targets = {row.name: row.targets for row in chosen}
    print(report(figures, targets))
    return TARGETS_MISSED if missed(figures, targets) else 0
