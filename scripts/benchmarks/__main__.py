"""``scripts/bench``: pybroker and Apache Kafka in turn, round by round, on this machine."""

import argparse
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from support.broker_process import BrokerProcess
from support.kafka_process import KafkaProcess, ZooKeeperProcess, free_port

from benchmarks.contestants import CONTESTANTS, Contestant, cpu_seconds, resident_mib
from benchmarks.workloads import WORKLOADS, Workload, first_acknowledged_record

Figures = dict[str, dict[str, dict[str, list[float]]]]
"""Row name → contestant → figure name → one value a round."""


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of both brokers (default 3)")
    parser.add_argument("--scale", type=float, default=1.0, help="share of each row's records (default 1)")
    parser.add_argument("--only", default="", help="only rows whose name has this text in it")
    return parser.parse_args(arguments)


def measure(workload: Workload, servers: str, pid: int, scale: float) -> dict[str, float]:
    before = cpu_seconds(pid)
    figures = workload.run(servers, scale)
    return {**figures, "broker CPU s": cpu_seconds(pid) - before}


def run_round(contestant: Contestant, chosen: list[Workload], scale: float, figures: Figures) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        broker, stop = contestant.start(Path(directory))
        try:
            for workload in chosen:
                for name, value in measure(workload, broker.bootstrap_servers, broker.pid, scale).items():
                    figures[workload.name][contestant.name][name].append(value)
            figures["memory after it all"][contestant.name]["MiB"].append(resident_mib(broker.pid))
        finally:
            stop()


def start_up(figures: Figures) -> None:
    """From the start of the process to the first acknowledged record, and memory a minute later."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        zookeeper = ZooKeeperProcess(Path(directory) / "zookeeper").start()
        pybroker = BrokerProcess(Path(directory) / "pybroker")
        pybroker.port = free_port()
        kafka = KafkaProcess(Path(directory) / "kafka", zookeeper, heap="1g")
        for name, broker in (("pybroker", pybroker), ("kafka", kafka)):
            started = time.monotonic()
            broker.begin()
            acknowledged = first_acknowledged_record(broker.port, started + 60)
            figures["start of the process to the first acknowledged record"][name]["s"].append(acknowledged - started)
            broker.kill()
        zookeeper.kill()


def memory_at_rest(figures: Figures, seconds: float) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        started = [(contestant, *contestant.start(Path(directory))) for contestant in CONTESTANTS]
        time.sleep(seconds)
        for contestant, broker, stop in started:
            figures["memory at rest"][contestant.name]["MiB"].append(resident_mib(broker.pid))
            stop()


def table(figures: Figures) -> str:
    lines = ["| work | figure | pybroker | Kafka 3.9.1 | pybroker : Kafka |", "|---|---|---:|---:|---:|"]
    for row, by_contestant in figures.items():
        for name in by_contestant["pybroker"]:
            ours = statistics.median(by_contestant["pybroker"][name])
            theirs = statistics.median(by_contestant["kafka"][name])
            ratio = f"{ours / theirs:.2f}" if theirs else "-"
            lines.append(f"| {row} | {name} | {number(ours)} | {number(theirs)} | {ratio} |")
    return "\n".join(lines)


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    chosen = [workload for workload in WORKLOADS if options.only in workload.name]
    figures: Figures = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for round_number in range(1, options.rounds + 1):
        for contestant in CONTESTANTS:
            print(f"round {round_number}: {contestant.name}", file=sys.stderr, flush=True)
            run_round(contestant, chosen, options.scale, figures)
        if not options.only:
            print(f"round {round_number}: starts", file=sys.stderr, flush=True)
            start_up(figures)
    if not options.only:
        memory_at_rest(figures, 60 * min(options.scale, 1.0))
    print(table(figures))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
