"""Shapes of the JSON that the commands about transactions print."""

from typing import Annotated

from ...base.frozen import frozen

__all__ = ["Abortion", "HangingTransaction", "Transaction", "TransactionDescription"]


@frozen(kw_only=True)
class Transaction:
    """A transactional id in the list."""

    transactional_id: str
    producer_id: int
    state: Annotated[str, "such as Empty, Ongoing or CompleteCommit"]
    coordinator: Annotated[int, "id of the broker"]


@frozen(kw_only=True)
class TransactionDescription:
    """The state of a transactional id, as its coordinator knows it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    state: str
    timeout_ms: int
    started_ms: Annotated[int | None, "milliseconds since 1970; null: no transaction is open"]
    partitions: Annotated[tuple[str, ...], "partitions of the open transaction, as TOPIC:PARTITION"]


@frozen(kw_only=True)
class HangingTransaction:
    """An open transaction in a partition, of which no coordinator knows. Readers of committed records wait for it."""

    topic: str
    partition: int
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    start_offset: int
    last_written_ms: Annotated[int, "when the producer last wrote, milliseconds since 1970"]


@frozen(kw_only=True)
class Abortion:
    """A transaction in a partition that was aborted, or with ``--dry-run`` would be."""

    topic: str
    partition: int
    producer_id: int
    start_offset: int
    is_dry_run: bool
