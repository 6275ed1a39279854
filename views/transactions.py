"""The transactional ids that a broker coordinates."""

from typing import Annotated

from ..base.frozen import frozen
from .source import Source

__all__ = ["TransactionRow", "Transactions"]


@frozen(kw_only=True)
class TransactionRow:
    """One transactional id."""

    transactional_id: str
    state: Annotated[str, "Kafka's name: Empty, Ongoing, PrepareCommit, …"]
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    started_ms: Annotated[int | None, "null when no transaction began"]
    partitions: Annotated[int, "partitions in the transaction"]


@frozen(kw_only=True)
class Transactions:
    """The transactional ids that this broker coordinates."""

    source: Source
    is_loading: Annotated[bool, "the list is incomplete, because a partition is being loaded"]
    total: int
    matched: int
    items: tuple[TransactionRow, ...]
