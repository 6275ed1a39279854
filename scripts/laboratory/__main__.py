"""Plays troubles on three pybrokers and on three Apache Kafkas under load, and prints what the clients met.

For each trouble and client: the longest time without an acknowledgement, and without a record received, in a partition.
At the end: records that were acknowledged and lost, stored twice, or stored behind a later one of the same producer.
Exits with 1 if pybroker has such records, or if a client met a longer gap than with Kafka (see `comparison`).
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from laboratory.cluster import BROKER_IDS, KINDS, Cluster
from laboratory.comparison import Row, worse_rows
from laboratory.load import CLIENTS, Load, Outcome
from laboratory.network import Network
from laboratory.troubles import TROUBLES, Trouble, disk_count_for

_QUIET_S = 5.0
_SIDES = tuple((client, what) for client in CLIENTS for what in ("produce", "consume"))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/trouble", description=__doc__)
    parser.add_argument("--only", default="", help="play only troubles whose name contains this text")
    parser.add_argument("--kind", choices=KINDS, help="play them on this kind of broker alone")
    parser.add_argument("--rounds", type=int, default=1, help="how often each trouble is played (default 1)")
    parser.add_argument("--debug", default="", help="librdkafka's debug contexts; its log goes to the kept files")
    parser.add_argument("--keep", type=Path, help="keep the output of brokers and clients in this directory")
    return parser.parse_args()


def name_of(trouble: Trouble) -> str:
    return trouble.__name__.replace("_", " ")


Results = tuple[list[Row], dict[str, Outcome]]
"""A row with the gaps of `_SIDES` for each trouble played, and the outcome for each client."""


def play_all(kind: str, chosen: Sequence[Trouble], options: argparse.Namespace, network: Network) -> Results:
    """Plays the troubles on a cluster for each number of disks that they need."""
    rows: list[Row] = []
    outcomes = dict.fromkeys(CLIENTS, Outcome())
    for disk_count, troubles in groupby(chosen, disk_count_for):
        more, found = play(kind, disk_count, tuple(troubles), options, network)
        rows += more
        outcomes = {client: outcome + found[client] for client, outcome in outcomes.items()}
    return rows, outcomes


def play(
    kind: str, disk_count: int, chosen: Sequence[Trouble], options: argparse.Namespace, network: Network
) -> Results:
    rows = []
    directory = Path(tempfile.mkdtemp(prefix=f"trouble-{kind}-"))
    cluster = Cluster(kind, directory, network, disk_count)
    load = None
    try:
        cluster.start()
        load = Load(cluster.servers, directory / "load", options.debug)
        load.wait_until_steady()
        for trouble in chosen:
            for _ in range(options.rounds):
                cluster.elect_preferred()
                time.sleep(_QUIET_S)
                begun_ms = time.time() * 1000
                restarts = trouble(cluster) or []
                if not restarts:
                    cluster.wait_until_healthy()
                time.sleep(_QUIET_S)
                ended_ms = time.time() * 1000
                for broker_id in restarts:
                    cluster.kill_and_start(broker_id)
                cluster.wait_until_healthy()
                found = [load.longest_gap_s(client, what, begun_ms, ended_ms) for client, what in _SIDES]
                rows.append(Row(name_of(trouble), found))
                print(f"{kind}: {name_of(trouble)}: {', '.join(f'{gap:.1f}' for gap in found)} s", file=sys.stderr)
        load.end()
        return rows, {client: load.outcome(client) for client in CLIENTS}
    finally:
        if load is not None:
            load.kill()
        cluster.close()
        if options.keep is not None:
            keep(cluster, directory, options.keep / f"{kind}-{disk_count}")
        for broker_id in BROKER_IDS:
            Network.heal(broker_id)
        for disks in cluster.disks.values():
            for disk in disks:
                disk.remove()
        shutil.rmtree(directory)


def keep(cluster: Cluster, directory: Path, place: Path) -> None:
    place.mkdir(parents=True, exist_ok=True)
    for broker_id, broker in cluster.brokers.items():
        (place / f"broker{broker_id}.log").write_text("".join(broker.lines))
    shutil.copytree(directory / "load", place / "load", dirs_exist_ok=True)


def main() -> int:
    options = parse()
    chosen = [trouble for trouble in TROUBLES if options.only in name_of(trouble)]
    kinds = [kind for kind in KINDS if options.kind in (None, kind)]
    network = Network(BROKER_IDS)
    results = {kind: play_all(kind, chosen, options, network) for kind in kinds}
    print(f"| trouble | {' | '.join(f'{client} {what}' for client, what in _SIDES)} |")
    print("|---|" + "---:|" * len(_SIDES))
    for rows in zip(*(rows for rows, _ in results.values()), strict=True):
        cells = [", ".join(f"{row.gaps_s[side]:.1f}" for row in rows) for side in range(len(_SIDES))]
        print(f"| {rows[0].trouble} | {' | '.join(cells)} |")
    print(f"\nLongest gaps in seconds: {', '.join(kinds)}.\n")
    is_right = True
    for kind, (_, outcomes) in results.items():
        for client, outcome in outcomes.items():
            print(f"{kind}, {client}: {outcome}")
            is_right &= kind != "pybroker" or not (outcome.lost or outcome.doubled or outcome.reordered)
    if len(results) == len(KINDS):
        worse = worse_rows(*(results[kind][0] for kind in KINDS))
        is_right &= not worse
        print(f"\nWorse than Kafka: {', '.join(worse) or 'no row'}.")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
