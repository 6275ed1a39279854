"""Faults of brokers and of ZooKeeper while transactions run, one or two at a time; two may overlap.

No fault loses a record: processes are killed, but the machine stays up.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from random import Random

from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster

__all__ = ["Faults"]

LONGEST_S = 12.0
"""Twice the timeout of a session, and less than the timeout of requests: no client gives up a connection."""
_CALM_S = 5.0
_SHORT_SHARE = 0.4
_DOUBLE_SHARE = 0.35

_Fault = Callable[[BlockingCluster, int], Iterator[None]]


def broker_killed(cluster: BlockingCluster, broker: int) -> Iterator[None]:
    cluster.kill(broker)
    yield
    cluster.start(broker)


def broker_paused(cluster: BlockingCluster, broker: int) -> Iterator[None]:
    cluster.pause(broker)
    yield
    cluster.resume(broker)


def broker_stopped(cluster: BlockingCluster, broker: int) -> Iterator[None]:
    cluster.stop(broker)
    yield
    cluster.start(broker)


def broker_cut_off_from_zookeeper(cluster: BlockingCluster, broker: int) -> Iterator[None]:
    cluster.cut(broker, "zookeeper")
    yield
    cluster.heal(broker, "zookeeper")


def broker_cut_off_from_all(cluster: BlockingCluster, broker: int) -> Iterator[None]:
    """Clients still reach the broker."""
    others = [each for each in cluster.broker_ids if each != broker]
    cluster.cut(broker, "zookeeper")
    for other in others:
        cluster.cut(broker, other)
    yield
    for other in others:
        cluster.heal(broker, other)
    cluster.heal(broker, "zookeeper")


def two_brokers_cut_off_from_each_other(cluster: BlockingCluster, broker: int) -> Iterator[None]:
    other = broker % len(cluster.broker_ids) + 1
    cluster.cut(broker, other)
    yield
    cluster.heal(broker, other)


def zookeeper_killed(cluster: BlockingCluster, _: int) -> Iterator[None]:
    cluster.kill("zookeeper")
    yield
    cluster.start("zookeeper")


def all_killed(cluster: BlockingCluster, _: int) -> Iterator[None]:
    for broker in cluster.broker_ids:
        cluster.kill(broker)
    yield
    for broker in cluster.broker_ids:
        cluster.start(broker)


_OF_ONE: tuple[_Fault, ...] = (
    broker_killed,
    broker_killed,
    broker_paused,
    broker_paused,
    broker_stopped,
    broker_cut_off_from_zookeeper,
    broker_cut_off_from_all,
    two_brokers_cut_off_from_each_other,
)
_OF_ALL: tuple[_Fault, ...] = (zookeeper_killed, all_killed)
_OF_ALL_SHARE = 0.15


class Faults:
    """Brings faults about until told otherwise. `counts`: how often each happened."""

    def __init__(self, cluster: BlockingCluster, random: Random) -> None:
        self._cluster = cluster
        self._random = random
        self.counts: Counter[str] = Counter()

    def bring_about_some(self, wait: Callable[[float], None]) -> None:
        """One or two faults. `wait`: lets so many seconds pass, while clients are looked after."""
        random = self._random
        with ExitStack() as stack:
            if random.random() < _OF_ALL_SHARE:
                self._begin(stack, random.choice(_OF_ALL), 0)
            else:
                broker, other = random.sample(self._cluster.broker_ids, 2)
                self._begin(stack, random.choice(_OF_ONE), broker)
                if random.random() < _DOUBLE_SHARE:
                    wait(random.uniform(0.0, 3.0))
                    self._begin(stack, random.choice(_OF_ONE), other)
            wait(random.uniform(0.0, 2.0 if random.random() < _SHORT_SHARE else LONGEST_S))
        wait(random.uniform(0.0, _CALM_S))

    def _begin(self, stack: ExitStack, fault: _Fault, broker: int) -> None:
        name = fault.__name__.replace("_", " ")
        self.counts[name] += 1
        print(f"{time.strftime('%X')} {name} {broker or ''}", flush=True)
        stack.enter_context(contextmanager(fault)(self._cluster, broker))
