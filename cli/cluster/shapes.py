"""Shapes of the JSON that the commands about the cluster print."""

from typing import Annotated, Literal

from ...base.frozen import frozen

__all__ = [
    "ClusterBroker",
    "ClusterFeature",
    "ClusterHealth",
    "ClusterNumbers",
    "ClusterProblem",
    "Election",
    "FeatureChange",
    "LogDirectory",
    "PartitionMove",
    "PartitionMoveState",
    "PlannedPartition",
    "ReassignmentPlan",
]


@frozen(kw_only=True)
class ClusterNumbers:
    """A cluster in numbers."""

    cluster_id: Annotated[str | None, "null: the brokers are too old to say"]
    controller: Annotated[int | None, "null: there is none"]
    brokers: int
    topics: Annotated[int, "with internal ones"]
    partitions: int
    replicas: int


@frozen(kw_only=True)
class ClusterBroker:
    """A broker that is alive."""

    broker: int
    host: str
    port: int
    rack: str | None
    is_controller: bool
    leaders: Annotated[int, "partitions that it leads"]
    replicas: Annotated[int, "partitions of which it has a replica"]
    out_of_sync: Annotated[int, "its replicas that are not in sync"]


@frozen(kw_only=True)
class ClusterFeature:
    """A feature of the cluster (KIP-584)."""

    feature: str
    level: Annotated[int, "the level that all brokers follow; 0: the feature is off"]
    lowest: Annotated[int | None, "lowest level that all brokers support; null: they do not say"]
    highest: Annotated[int | None, "highest level that all brokers support; null: they do not say"]


@frozen(kw_only=True)
class FeatureChange:
    """A change of a feature's level, or with ``--dry-run`` one that would be accepted."""

    feature: str
    old_level: int
    new_level: int
    change: Annotated[str, "raised, lowered or kept"]
    is_dry_run: bool


@frozen(kw_only=True)
class ClusterProblem:
    """Something that is not as it should be."""

    kind: Literal[
        "no controller",
        "broker missing",
        "broker unreachable",
        "no leader",
        "under min ISR",
        "under-replicated",
        "log directory offline",
        "topic missing",
        "unreachable",
        "not allowed",
    ]
    what: Annotated[str, "one line"]
    items: Annotated[tuple[str, ...], "the partitions or brokers; at most 20"]
    count: Annotated[int, "how many there are"]


@frozen(kw_only=True)
class ClusterHealth:
    """Whether a cluster is healthy, and if not, why."""

    is_healthy: bool
    brokers: int
    partitions: int
    problems: tuple[ClusterProblem, ...]


@frozen(kw_only=True)
class LogDirectory:
    """A log directory of a broker."""

    broker: int
    directory: str
    error: Annotated[str | None, "null: it works"]
    replicas: int
    size: Annotated[int, "bytes of its partitions"]
    total: Annotated[int | None, "bytes of its volume; null: brokers before Kafka 3.3 do not say"]
    usable: Annotated[int | None, "free bytes of its volume; null: as above"]


@frozen(kw_only=True)
class Election:
    """The election of a leader for a partition."""

    topic: str
    partition: int
    result: Annotated[str, "elected, not needed, would be asked for, or an error"]


@frozen(kw_only=True)
class PartitionMove:
    """A reassignment of a partition that was begun or cancelled, or with ``--dry-run`` would be."""

    topic: str
    partition: int
    old_replicas: tuple[int, ...]
    new_replicas: tuple[int, ...]
    change: Annotated[str, "begun or cancelled"]
    is_dry_run: bool


@frozen(kw_only=True)
class PartitionMoveState:
    """How far a reassignment is."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]
    state: Annotated[str, "moving, done, or other replicas: the partition has other replicas than the plan says"]


@frozen(kw_only=True)
class PlannedPartition:
    """Where the replicas of a partition shall be."""

    topic: str
    partition: int
    replicas: Annotated[tuple[int, ...], "the first is the preferred leader"]


@frozen(kw_only=True)
class ReassignmentPlan:
    """A plan in the form of Kafka's kafka-reassign-partitions."""

    version: int
    partitions: tuple[PlannedPartition, ...]
