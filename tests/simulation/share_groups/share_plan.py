"""The parameters of a run with a share group (KIP-932), chosen by a seed."""

from dataclasses import dataclass, field, replace
from random import Random

from simulation.clients.share_requests import Habits
from simulation.machines.cluster_shape import ClusterShape
from simulation.runs.faults import FAULTS
from simulation.runs.simulation_run import Plan
from simulation.share_groups.share_life import ShareLifePlan

__all__ = ["GROUP_ID", "STATE_PARTITIONS", "TOPICS", "SharePlan"]

GROUP_ID = "sharers"
TOPICS = ("shared0", "shared1")
STATE_PARTITIONS = 2
_LOCK_S = 2.0
_LOCKS_S = (1.0, _LOCK_S)
_OFTEN_MS, _SELDOM_MS = 500, 300_000
_FAULTS = tuple(name for name in FAULTS if not name.startswith("power fails"))
"""Without the faults by which brokers lose acknowledged records, which no coordinator can prevent."""


@dataclass(frozen=True)
class More:
    """The circumstances that four of five seeds have, and the others lack.

    ``begins_at_end``: share.auto.offset.reset is latest.
    """

    begins_at_end: bool = False
    has_transactions: bool = False
    reads_committed: bool = False
    are_settings_changed: bool = False
    are_offsets_changed: bool = False

    @classmethod
    def of_seed(cls, seed: int) -> "More":
        match seed % 5:
            case 0:
                return cls(has_transactions=True, begins_at_end=True)
            case 2:
                return cls(has_transactions=True, reads_committed=True, are_settings_changed=True)
            case 3:
                return cls(are_offsets_changed=True, begins_at_end=seed % 2 == 0)
            case 4:
                return cls(are_settings_changed=True)
            case _:
                return cls()


@dataclass(frozen=True)
class SharePlan(Plan):
    """The parameters of a run with a share group. ``updates``: between two snapshots of a share partition.

    ``prune_ms``, ``cold_ms``: how often old records of states are deleted, and how old the last snapshot becomes.
    """

    member_count: int = 3
    are_leaders_moved: bool = False
    delivery_limit: int = 5
    updates: int = 500
    prune_ms: int = _OFTEN_MS
    cold_ms: int = _SELDOM_MS
    lives: ShareLifePlan = field(default_factory=lambda: ShareLifePlan(TOPICS))
    more: More = field(default_factory=More)

    @classmethod
    def of_seed(cls, seed: int) -> "SharePlan":
        random, upkeep = Random(f"share groups {seed}"), Random(f"upkeep of states {seed}")
        habits = Habits(
            GROUP_ID, random.choice((1, 2, 2)), max_records=random.choice((1, 5, 50)), is_record_limit=seed % 2 == 0
        )
        return cls(
            broker_count=random.choice((1, 3, 3, 3, 3, 4)),
            duration_s=random.choice((8.0, 10.0, 12.0)),
            fault_count=random.choice((0, 2, 4, 6, 8)),
            change_count=random.choice((0, 0, 2, 4)),
            shape=replace(ClusterShape.by_chance(random), has_racks=False),
            faults=_FAULTS,
            member_count=random.choice((1, 2, 3, 4)),
            are_leaders_moved=random.random() < 0.5,
            delivery_limit=random.choice((2, 5, 5)),
            updates=random.choice((0, 3, 500)),
            prune_ms=upkeep.choice((_OFTEN_MS, 2_000) if seed % 5 == 4 else (_OFTEN_MS, 2_000, _SELDOM_MS)),
            cold_ms=upkeep.choice((_OFTEN_MS, 2_000, _SELDOM_MS)),
            lives=ShareLifePlan(TOPICS, habits, passing=("passing-by",) if seed % 5 == 4 else ()),
            more=More.of_seed(seed),
        )

    def group_settings(self) -> dict[str, str]:
        """The settings that the group begins with."""
        return {
            "share.auto.offset.reset": "latest" if self.more.begins_at_end else "earliest",
            "share.isolation.level": "read_committed" if self.more.reads_committed else "read_uncommitted",
        }

    @property
    def lock_s(self) -> float:
        """The shortest time that a lock may last."""
        return min(_LOCKS_S) if self.more.are_settings_changed else _LOCK_S

    def settings(self) -> dict[str, str]:
        return {
            "group.coordinator.rebalance.protocols": "classic,share",
            "group.share.delivery.count.limit": str(self.delivery_limit),
            "group.share.heartbeat.interval.ms": "700",
            "group.share.min.heartbeat.interval.ms": "500",
            "group.share.min.record.lock.duration.ms": "1000",
            "group.share.min.session.timeout.ms": "3000",
            "group.share.partition.max.record.locks": "100",
            "group.share.record.lock.duration.ms": str(int(_LOCK_S * 1000)),
            "group.share.session.timeout.ms": "4000",
            "log.cleaner.enable": "false",
            "share.coordinator.cold.partition.snapshot.interval.ms": str(self.cold_ms),
            "share.coordinator.snapshot.update.records.per.snapshot": str(self.updates),
            "share.coordinator.state.topic.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": str(STATE_PARTITIONS),
            "share.coordinator.state.topic.prune.interval.ms": str(self.prune_ms),
            "share.coordinator.state.topic.replication.factor": str(min(3, self.broker_count)),
            "share.coordinator.state.topic.segment.bytes": "8192",
        }
