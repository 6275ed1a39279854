"""Which two faults may last at a time, which of them begins and which ends first, and why.

No record may be lost by any pair: processes die, but machines live, so that what a broker has written it still has when
it is back, and of what is acknowledged some member of the ISR has everything. Only data that are taken away are gone.
"""

from collections.abc import Callable, Set
from contextlib import ExitStack
from itertools import combinations
from random import Random

from support.load.cluster_faults import (
    FAULTS,
    Fault,
    a_broker_comes_back_empty,
    a_broker_is_cut_off_from_all,
    a_broker_is_cut_off_from_zookeeper,
    a_leader_is_cut_off_from_its_controller,
    a_log_directory_is_taken_away,
    all_are_cut_off_from_zookeeper,
    all_are_killed,
    all_but_one_are_killed,
    brokers_are_restarted_one_after_the_other,
    partitions_are_moved,
    partitions_are_moving,
    two_brokers_are_cut_off_from_each_other,
    zookeeper_is_away,
)
from support.load.loaded_cluster import LoadedCluster
from support.processes.kafka_process import ZooKeeperProcess

__all__ = ["PAIRS", "Pair", "bring_about_both"]

Pair = tuple[Fault, Fault]

NO_ZOOKEEPER: Set[Fault] = {zookeeper_is_away, all_are_cut_off_from_zookeeper}
STARTING: Set[Fault] = {all_are_killed, brokers_are_restarted_one_after_the_other}
"""They start brokers while the other fault lasts, and are over when the test goes on."""
FROM_HEALTH: Set[Fault] = {a_broker_comes_back_empty, a_leader_is_cut_off_from_its_controller}
"""They can be brought about only while nothing else is the matter."""

ALONE: Set[Fault] = {a_log_directory_is_taken_away, partitions_are_moved}
"""What is in a directory that is taken away would be lost if another broker left the ISR before. The move has a death
of its own."""
CONTRADICTIONS: tuple[tuple[Set[Fault], Set[Fault]], ...] = (
    (NO_ZOOKEEPER, NO_ZOOKEEPER),
    (NO_ZOOKEEPER, STARTING),  # who starts waits for ZooKeeper
    (NO_ZOOKEEPER, {a_broker_is_cut_off_from_zookeeper, a_broker_is_cut_off_from_all}),  # nobody misses that broker
    (STARTING, STARTING),
    (FROM_HEALTH, FROM_HEALTH),
    # Four brokers are too few.
    ({two_brokers_are_cut_off_from_each_other}, {all_but_one_are_killed, a_leader_is_cut_off_from_its_controller}),
)


def may_overlap(one: Fault, other: Fault) -> bool:
    return not ALONE & {one, other} and not any(
        (one in these and other in those) or (other in these and one in those) for these, those in CONTRADICTIONS
    )


PAIRS: tuple[Pair, ...] = tuple(
    pair for pair in combinations((*FAULTS, partitions_are_moving), 2) if may_overlap(*pair)
)


def bring_about_both(pair: Pair, it: LoadedCluster, zookeeper: ZooKeeperProcess, meanwhile: Callable[[], None]) -> None:
    """``meanwhile`` is called while both last."""
    with ExitStack() as ends_last, ExitStack() as ends_first:
        last = last_to_end(pair, it.random)
        for fault in in_order_of_beginning(pair, it.random):
            stack = ends_last if fault is last else ends_first
            stack.enter_context(fault(it, zookeeper))
        meanwhile()


def in_order_of_beginning(pair: Pair, random: Random) -> list[Fault]:
    """Without ZooKeeper no move is begun; without any session there is no controller to choose."""

    def place(fault: Fault) -> int:
        if fault in FROM_HEALTH or (fault is partitions_are_moving and NO_ZOOKEEPER & {*pair}):
            return 0
        return 2 if fault in STARTING or fault is all_are_cut_off_from_zookeeper else 1

    return sorted(random.sample(pair, 2), key=place)


def last_to_end(pair: Pair, random: Random) -> Fault:
    """Who starts a broker needs ZooKeeper, and a move is done when all are back."""

    def place(fault: Fault) -> int:
        return 0 if fault in NO_ZOOKEEPER else 2 if fault is partitions_are_moving else 1

    return sorted(random.sample(pair, 2), key=place)[1]
