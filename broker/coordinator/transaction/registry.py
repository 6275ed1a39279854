"""The transactional ids in memory, of the partitions of ``__transaction_state`` that this broker coordinates."""

import logging
from collections.abc import Callable, Iterable

from ....base.coordinator_partition import partition_for_key
from ....base.kafka_names import TRANSACTION_STATE_TOPIC
from ....base.quiet_lines import QUIET
from ....protocol.errors import ErrorCode
from ..entry_memory import EntryMemory
from ..ownership import PartitionOwnership
from .memory import added_bytes, new_transaction_bytes
from .picture import TransactionPicture
from .transaction import Transaction

__all__ = ["DEFAULT_MAX_BYTES", "TransactionRegistry"]

logger = logging.getLogger(__name__)

DEFAULT_MAX_BYTES = 256 * 1024 * 1024
"""Default of ``pybroker.transactions.max.bytes``."""


class TransactionRegistry:
    """Transactions by partition and id.

    ``partition_count``: the partitions by which ids are spread. It stays as it is while partitions are owned.
    """

    def __init__(self, partition_count: Callable[[], int], max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._partition_count = partition_count
        self._reported_count: int | None = None
        self.ownership = PartitionOwnership()
        self.memory = EntryMemory(max_bytes)
        self._transactions: dict[int, dict[str, Transaction]] = {}
        """By owned partition."""

    def partition_for(self, transactional_id: str) -> int:
        """The partition of ``__transaction_state`` that stores the id."""
        return partition_for_key(transactional_id, self._partition_count())

    def check(self, transactional_id: str) -> ErrorCode:
        """NONE when this broker coordinates the id, else the error for the client."""
        if not transactional_id:
            return ErrorCode.INVALID_REQUEST
        return self.ownership.check(self.partition_for(transactional_id))

    # -- transactions

    def get(self, transactional_id: str) -> Transaction | None:
        """The transaction of the id, if it is in memory."""
        return self._transactions.get(self.partition_for(transactional_id), {}).get(transactional_id)

    def has(self, transaction: Transaction) -> bool:
        """Whether the transaction was not forgotten, for example with its partition."""
        return self.get(transaction.transactional_id) is transaction

    def check_space(self, transactional_id: str) -> ErrorCode:
        """NONE when a new id fits into the limit of memory.

        Ids in memory are not removed to make room, because they fence earlier instances of their producers.
        """
        return self._check_space(transactional_id, new_transaction_bytes(transactional_id))

    def check_growth(self, transaction: Transaction, picture: TransactionPicture) -> ErrorCode:
        """NONE when the partitions that a picture adds fit into the limit of memory."""
        return self._check_space(transaction.transactional_id, added_bytes(picture, transaction.current))

    def _check_space(self, transactional_id: str, size_bytes: int) -> ErrorCode:
        if self.memory.has_space_for(size_bytes):
            return ErrorCode.NONE
        logger.warning(
            "transactional id %r refused: %d bytes are used by transactional ids; raise "
            "pybroker.transactions.max.bytes=%d or lower transactional.id.expiration.ms",
            transactional_id,
            self.memory.used_bytes,
            self.memory.max_bytes,
            extra=QUIET,
        )
        return ErrorCode.COORDINATOR_NOT_AVAILABLE

    def add(self, transaction: Transaction) -> None:
        """Add a transaction of an owned partition. Call `check` and `check_space` first."""
        self._add(transaction, self.partition_for(transaction.transactional_id))

    def remove(self, transaction: Transaction) -> None:
        """Forget an id. Does nothing when it was forgotten with its partition."""
        if self.has(transaction):
            del self._transactions[self.partition_for(transaction.transactional_id)][transaction.transactional_id]
            self._release_memory(transaction)

    def partitions(self) -> Iterable[int]:
        """A snapshot of the owned partitions."""
        return list(self._transactions)

    def transactions_in(self, partition: int) -> Iterable[Transaction]:
        """A snapshot of the transactions of one partition."""
        return list(self._transactions.get(partition, {}).values())

    def _add(self, transaction: Transaction, partition: int) -> None:
        self._transactions[partition][transaction.transactional_id] = transaction
        transaction.memory = self.memory
        self.memory.used_bytes += transaction.size_bytes

    def _release_memory(self, transaction: Transaction) -> None:
        transaction.memory = None
        self.memory.used_bytes -= transaction.size_bytes

    # -- partitions

    def finish_loading(self, partition: int, transactions: Iterable[Transaction]) -> None:
        """The partition is owned now, with these transactions, even if they take more memory than the limit."""
        self._transactions[partition] = {}
        for transaction in transactions:
            self._add(transaction, partition)
        self.ownership.finish_loading(partition)

    def remove_partition(self, partition: int) -> list[Transaction]:
        """Forget the transactions of a partition that this broker does not coordinate any more, and return them."""
        transactions = list(self._transactions.pop(partition, {}).values())
        for transaction in transactions:
            self._release_memory(transaction)
        return transactions

    def check_partition_count(self, count: int) -> None:
        """Log an error, once for each count, when ids are not spread over this number of partitions of the topic."""
        kept = self._partition_count()
        if count in (kept, self._reported_count):
            return
        self._reported_count = count
        logger.error(
            "%s has %d partitions now, but %d when its first partition was loaded: its number of partitions must not "
            "change; transactional ids go on with %d partitions until a restart, and lose their state then",
            TRANSACTION_STATE_TOPIC,
            count,
            kept,
            kept,
        )
