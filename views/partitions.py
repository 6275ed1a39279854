"""All partitions of the cluster in columns: where each has its replicas, for a matrix of partitions and brokers."""

from typing import Annotated

from ..base.frozen import frozen
from .source import Source

__all__ = ["PARTITION_COLUMNS", "PartitionColumns", "PartitionMatrix"]

PARTITION_COLUMNS = ("topic", "partition", "leader", "leader_epoch", "replicas", "isr", "offline_replicas")

PartitionColumns = tuple[str, int, int | None, int, tuple[int, ...], tuple[int, ...], tuple[int, ...]]
"""A row, in the order of `PARTITION_COLUMNS`."""


@frozen(kw_only=True)
class PartitionMatrix:
    """Partitions by topic and index. A leader is null while the partition has none."""

    source: Source
    total: int
    matched: int
    columns: tuple[str, ...]
    rows: Annotated[tuple[PartitionColumns, ...], "values in the order of the columns"]
