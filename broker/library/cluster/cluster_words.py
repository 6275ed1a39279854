"""Acts on a cluster by their names, for HTTP: each public method is an act, and its parameters are the act's arguments.

A broker is named by its id, and the metadata store by ``"zookeeper"``.
"""

import threading
from collections.abc import Callable
from typing import Any, cast

from .blocking_cluster import BlockingCluster, MemberName

__all__ = ["ClusterWords"]


class ClusterWords:
    """Methods block until the act is done. They raise ActError or StartError when it cannot be done, RuntimeError when
    the broker is not in a state for it, and ValueError for arguments without a meaning."""

    def __init__(self, cluster: BlockingCluster) -> None:
        self._cluster = cluster
        self._lock = threading.Lock()
        """Held while a member starts or ends."""
        self._cuts: set[frozenset[MemberName]] = set()

    # -- brokers, and the metadata store

    def kill(self, broker: int | str) -> None:
        """End a broker as ``kill -9`` does."""
        with self._lock:
            self._cluster.kill(_member(broker))

    def stop(self, broker: int | str) -> None:
        """Stop a broker cleanly: it hands over its leaderships first."""
        with self._lock:
            self._cluster.stop(_member(broker))

    def start(self, broker: int | str) -> None:
        """Start a broker that was stopped or killed, with its data and port."""
        with self._lock:
            self._cluster.start(_member(broker))

    def restart(self, broker: int | str) -> None:
        """Stop a broker cleanly, and start it."""
        with self._lock:
            self._cluster.stop(_member(broker))
            self._cluster.start(_member(broker))

    def pause(self, broker: int | str) -> None:
        """Let a broker do nothing; its connections stay."""
        with self._lock:
            self._cluster.pause(_member(broker))

    def resume(self, broker: int | str) -> None:
        """Let a paused broker go on."""
        with self._lock:
            self._cluster.resume(_member(broker))

    def cut(self, one: int | str, other: int | str) -> None:
        """Stop all traffic between two brokers, or a broker and the metadata store; connections stay open."""
        self._cluster.cut(_member(one), _member(other))
        self._cuts.add(frozenset((_member(one), _member(other))))

    def heal(self, one: int | str, other: int | str) -> None:
        """Let the traffic flow again, with the data sent since the cut."""
        self._cluster.heal(_member(one), _member(other))
        self._cuts.discard(frozenset((_member(one), _member(other))))

    def expire_session(self, broker: int) -> None:
        """End a broker's session with the metadata store; returns when the broker is registered again."""
        self._cluster.acts.expire_session(broker)

    # -- leaders, transactions, logs

    def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make a broker the leader of a partition; all brokers know it then."""
        self._cluster.acts.move_leader(topic, partition, to)

    def move_coordinator(self, group: str, to: int | None = None) -> int:
        """Move the coordinator of a group to a broker, or to any other broker; returns its id."""
        return self._cluster.acts.move_coordinator(group, to)

    def fence(self, transactional_id: str) -> dict[str, int]:
        """Begin a new epoch of a producer; its open transaction is aborted."""
        return self._cluster.acts.fence(transactional_id)

    def leave_open(self, transactional_id: str, topic: str, partition: int = 0) -> dict[str, int]:
        """Write one record in a transaction that nobody ends."""
        return self._cluster.acts.leave_open(transactional_id, topic, partition)

    def compact(self, topic: str | None = None) -> None:
        """Compact one topic, or all with cleanup.policy=compact, now."""
        self._cluster.acts.compact(topic)

    def apply_retention(self) -> None:
        """Run a round of retention now."""
        self._cluster.acts.apply_retention()

    def expire_offsets(self) -> None:
        """Remove the committed offsets whose retention time is over."""
        self._cluster.acts.expire_offsets()

    # -- disks

    def disk_full(self, broker: int) -> None:
        """Have every write of a broker fail for lack of space."""
        self._cluster.acts.disk(broker).full()

    def disk_fail(self, broker: int) -> None:
        """Have every read and write of a broker fail."""
        self._cluster.acts.disk(broker).fail()

    def disk_slow(self, broker: int, ms: int) -> None:
        """Have every read, write and sync of a broker take so much longer."""
        self._cluster.acts.disk(broker).slow(ms)

    def disk_heal(self, broker: int) -> None:
        """End the trouble of a broker's disk."""
        self._cluster.acts.disk(broker).heal()

    # -- not acts

    def reset_all(self) -> None:
        """Remove all faults, heal all cuts and disks, and let paused brokers go on."""
        cluster = self._cluster
        with self._lock:
            for broker in cluster.broker_ids:
                cluster.resume(broker)
        cluster.faults.clear()
        for one, other in map(tuple, tuple(self._cuts)):
            self.heal(one, other)
        for broker in cluster.broker_ids:
            if cluster.is_running(broker):
                cluster.acts.disk(broker).heal()

    def acts(self) -> dict[str, Callable[..., Any]]:
        """The acts by their names."""
        return {name: getattr(self, name) for name in sorted(vars(ClusterWords)) if _is_act(name)}


_NOT_ACTS = ("acts", "reset_all")


def _is_act(name: str) -> bool:
    return not name.startswith("_") and name not in _NOT_ACTS


def _member(name: int | str) -> MemberName:
    return cast("MemberName", name)  # the cluster refuses other names
