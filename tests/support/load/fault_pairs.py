"""Pairs of faults that may overlap, with the order in which they begin and end.

No pair may lose a record: processes die but machines live, so a broker keeps what it has written, and some ISR member
has every acknowledged record. Only data that a fault removes is gone.
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
from support.load.loaded_cluster import LoadedCluster, StoppableZooKeeper

__all__ = ["PAIRS", "Pair", "bring_about_both"]

Pair = tuple[Fault, Fault]

NO_ZOOKEEPER: Set[Fault] = {zookeeper_is_away, all_are_cut_off_from_zookeeper}
STARTING: Set[Fault] = {all_are_killed, brokers_are_restarted_one_after_the_other}
"""Faults that start brokers while the other fault lasts, and that are over when the test continues."""
FROM_HEALTH: Set[Fault] = {a_broker_comes_back_empty, a_leader_is_cut_off_from_its_controller}
"""Faults that can be brought about only in a healthy cluster."""

ALONE: Set[Fault] = {a_log_directory_is_taken_away, partitions_are_moved}
"""Faults that run alone. Data in a removed directory would be lost if another broker had left the ISR before; the
reassignment kills a broker itself.
"""
CONTRADICTIONS: tuple[tuple[Set[Fault], Set[Fault]], ...] = (
    (NO_ZOOKEEPER, NO_ZOOKEEPER),
    (NO_ZOOKEEPER, STARTING),  # a starting broker waits for ZooKeeper
    (NO_ZOOKEEPER, {a_broker_is_cut_off_from_zookeeper, a_broker_is_cut_off_from_all}),  # no broker notices its absence
    (STARTING, STARTING),
    (FROM_HEALTH, FROM_HEALTH),
    # These pairs need more than four brokers.
    ({two_brokers_are_cut_off_from_each_other}, {all_but_one_are_killed, a_leader_is_cut_off_from_its_controller}),
)


def may_overlap(one: Fault, other: Fault) -> bool:
    return not ALONE & {one, other} and not any(
        (one in these and other in those) or (other in these and one in those) for these, those in CONTRADICTIONS
    )


PAIRS: tuple[Pair, ...] = tuple(
    pair for pair in combinations((*FAULTS, partitions_are_moving), 2) if may_overlap(*pair)
)


def bring_about_both(
    pair: Pair, it: LoadedCluster, zookeeper: StoppableZooKeeper, meanwhile: Callable[[], None]
) -> None:
    """Brings about both faults; `meanwhile` is called while both last."""
    with ExitStack() as ends_last, ExitStack() as ends_first:
        last = last_to_end(pair, it.random)
        for fault in in_order_of_beginning(pair, it.random):
            stack = ends_last if fault is last else ends_first
            stack.enter_context(fault(it, zookeeper))
        meanwhile()


def in_order_of_beginning(pair: Pair, random: Random) -> list[Fault]:
    """Returns the faults in the order of their beginning: without ZooKeeper no reassignment can begin, and without
    sessions there is no controller.
    """

    def place(fault: Fault) -> int:
        if fault in FROM_HEALTH or (fault is partitions_are_moving and NO_ZOOKEEPER & {*pair}):
            return 0
        return 2 if fault in STARTING or fault is all_are_cut_off_from_zookeeper else 1

    return sorted(random.sample(pair, 2), key=place)


def last_to_end(pair: Pair, random: Random) -> Fault:
    """Returns the fault that must end last: starting a broker needs ZooKeeper, and a reassignment ends when all brokers
    are back.
    """

    def place(fault: Fault) -> int:
        return 0 if fault in NO_ZOOKEEPER else 2 if fault is partitions_are_moving else 1

    return sorted(random.sample(pair, 2), key=place)[1]
