"""Tests of four brokers on a real ZooKeeper with stock clients and random faults, one or two at a time.

scripts/test tests/cluster/test_random_faults.py --long -s --fault-minutes 60 --fault-seed 7
"""

import time
from collections import Counter
from pathlib import Path
from random import Random, randrange

import pytest
from support.load.cluster_faults import FAULTS, Fault, a_log_directory_is_taken_away
from support.load.fault_pairs import PAIRS, bring_about_both
from support.load.loaded_cluster import SESSION_TIMEOUT_S, LoadedCluster
from support.processes.kafka_process import ZooKeeperProcess

MOST_FAULTS = 8
"""Maximum number of consecutive faults before all checks and a new round."""
OVERLAPPING = 0.5
"""Probability of two faults at a time."""
LONGEST_OVERLAP_S = 1.5 * SESSION_TIMEOUT_S
"""Time of the overlap if both faults together prevent all progress."""


@pytest.mark.long
@pytest.mark.timeout(0)
def test_no_acknowledged_record_is_lost_under_random_faults(
    tmp_path: Path, zookeeper: ZooKeeperProcess, java_tree: str, pytestconfig: pytest.Config
) -> None:
    seed = pytestconfig.getoption("--fault-seed")
    seed = randrange(10**6) if seed is None else seed
    print(f"seed {seed}", flush=True)
    end = time.monotonic() + pytestconfig.getoption("--fault-minutes") * 60
    happened: Counter[str] = Counter()
    with LoadedCluster(tmp_path, java_tree, seed, brokers=4) as cluster:
        while time.monotonic() < end:
            one_generation(cluster, zookeeper, happened, end)
            print(f"seed {seed}: {dict(happened)}", flush=True)


def one_generation(cluster: LoadedCluster, zookeeper: ZooKeeperProcess, happened: Counter[str], end: float) -> None:
    """Runs one round: new topics and clients, some faults, then all checks."""
    random: Random = cluster.random
    enough_in_sync = random.choice((1, 2))
    faults = [fault for fault in FAULTS if enough_in_sync == 2 or fault is not a_log_directory_is_taken_away]
    cluster.begin_load(enough_in_sync)
    for _ in range(random.randrange(1, MOST_FAULTS + 1)):
        time.sleep(random.uniform(0, 2))  # not a wait for an event: the fault comes at a random moment
        if random.random() < OVERLAPPING:
            happened[two_faults(cluster, zookeeper)] += 1
        else:
            happened[one_fault(random.choice(faults), cluster, zookeeper)] += 1
        cluster.check_health()
        if time.monotonic() > end:
            break
    cluster.end_load()


def one_fault(fault: Fault, cluster: LoadedCluster, zookeeper: ZooKeeperProcess) -> str:
    print(f"{time.strftime('%X')} {fault.__name__}", flush=True)
    with fault(cluster, zookeeper):
        cluster.await_progress()
    return fault.__name__


def two_faults(cluster: LoadedCluster, zookeeper: ZooKeeperProcess) -> str:
    pair = cluster.random.choice(PAIRS)
    what = " + ".join(fault.__name__ for fault in pair)
    print(f"{time.strftime('%X')} {what}", flush=True)

    def meanwhile() -> None:
        cluster.await_progress()
        time.sleep(cluster.random.uniform(0, LONGEST_OVERLAP_S))  # again a random moment

    bring_about_both(pair, cluster, zookeeper, meanwhile)
    return what
