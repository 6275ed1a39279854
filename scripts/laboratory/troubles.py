"""The troubles that the laboratory plays on a cluster, one function each.

A trouble returns the brokers that have to be restarted after it: those that gave up a log directory for good.
"""

import signal
import time
from collections.abc import Callable

from laboratory.cluster import BROKER_IDS, Cluster
from laboratory.network import Network

__all__ = ["TROUBLES", "Trouble", "disk_count_for"]

Restarts = list[int]
Trouble = Callable[[Cluster], Restarts | None]
_DOWN_S = 10.0
_STOPPED_S = 15.0
_FULL_S = 30.0
_CUT_S = 150.0
_DISKS = 3


def rolling_restart(cluster: Cluster) -> None:
    for broker_id in BROKER_IDS:
        cluster.brokers[broker_id].stop()
        cluster.brokers[broker_id].start()
        cluster.wait_until_healthy()


def each_broker_killed(cluster: Cluster) -> None:
    for broker_id in BROKER_IDS:
        cluster.brokers[broker_id].kill()
        cluster.wait_for_leaders_without(broker_id)
        time.sleep(_DOWN_S)
        cluster.brokers[broker_id].start()
        cluster.wait_until_healthy()


def controller_suspended(cluster: Cluster) -> None:
    _suspend(cluster, cluster.controller_id())


def leader_suspended(cluster: Cluster) -> None:
    """Suspends a broker that is not the controller."""
    controller_id = cluster.controller_id()
    _suspend(cluster, next(broker_id for broker_id in BROKER_IDS if broker_id != controller_id))


def _suspend(cluster: Cluster, broker_id: int) -> None:
    cluster.signal_broker(broker_id, signal.SIGSTOP)
    time.sleep(_STOPPED_S)
    cluster.signal_broker(broker_id, signal.SIGCONT)


def zookeeper_suspended(cluster: Cluster) -> None:
    cluster.signal_zookeeper(signal.SIGSTOP)
    time.sleep(_STOPPED_S)
    cluster.signal_zookeeper(signal.SIGCONT)


def zookeeper_killed(cluster: Cluster) -> None:
    cluster.zookeeper.kill()
    time.sleep(_STOPPED_S)
    cluster.zookeeper.start()


def all_killed(cluster: Cluster) -> None:
    for broker in cluster.brokers.values():
        broker.kill()
    for broker in cluster.brokers.values():
        broker.begin()


def all_stopped(cluster: Cluster) -> None:
    for broker_id in BROKER_IDS:
        cluster.signal_broker(broker_id, signal.SIGTERM)
    for broker in cluster.brokers.values():
        broker.stop()
    for broker in cluster.brokers.values():
        broker.begin()


def broker_cut_off(cluster: Cluster) -> None:
    """Cuts a leader that is not the controller off from ZooKeeper and the other brokers, but not from clients."""
    controller_id = cluster.controller_id()
    broker_id = next(each for each in BROKER_IDS if each != controller_id)
    Network.cut_off(broker_id)
    time.sleep(_CUT_S)
    Network.heal(broker_id)


def disk_full(cluster: Cluster) -> Restarts:
    leader_id = cluster.leader_of(0)
    disk = cluster.disk_of(leader_id, 0)
    disk.fill()
    time.sleep(_FULL_S)
    disk.make_room()
    return [leader_id] if cluster.kind == "kafka" else []


def only_disk_full(cluster: Cluster) -> Restarts:
    """Played on brokers with one disk each: the broker has no other one."""
    return disk_full(cluster)


def disk_dead(cluster: Cluster) -> Restarts:
    leader_id = cluster.leader_of(0)
    disk = cluster.disk_of(leader_id, 0)
    disk.die()
    time.sleep(_FULL_S)
    disk.come_back()
    return [leader_id]


TROUBLES: tuple[Trouble, ...] = (
    rolling_restart,
    each_broker_killed,
    controller_suspended,
    leader_suspended,
    zookeeper_suspended,
    zookeeper_killed,
    all_killed,
    all_stopped,
    broker_cut_off,
    disk_full,
    disk_dead,
    only_disk_full,
)


def disk_count_for(trouble: Trouble) -> int:
    """Returns how many disks each broker has when the trouble is played."""
    return 1 if trouble is only_disk_full else _DISKS
