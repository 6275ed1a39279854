"""One transactional id: its committed picture, and the next one while its record is being written (Kafka's
TransactionMetadata).

How: a rule computes the next picture; `prepare` announces it; the record is written; then `complete` adopts it or
`reset` drops it. A record that was written but is not known to be committed may take effect later: its picture stays
pending until the partition is loaded again, so that nothing is decided on an outdated state.
Limits: at most one picture is pending, so that the records of an id are in the order of its decisions.
"""

from ....base.invariant import invariant
from ....protocol.records.batch import NO_PRODUCER_EPOCH
from ..entry_memory import EntryMemory
from .memory import added_bytes, new_transaction_bytes, partition_bytes
from .picture import TransactionPicture
from .states import ENDING_STATES, TransactionState
from .transition_checks import check_transition

__all__ = ["Transaction"]


class Transaction:
    """The entity.

    Attributes:
        current: as of the last committed record, except for a fence's epoch (`has_unwritten_epoch`).
        pending: the picture whose record is being written.
        has_unwritten_epoch: a fence raised the epoch in memory, and its record is not committed. The next fence does
            not raise it again, because no producer was told that epoch.
        memory: the memory of all transactional ids; None: not counted.
    """

    __slots__ = ("current", "has_unwritten_epoch", "memory", "pending", "size_bytes", "transactional_id")

    def __init__(self, transactional_id: str, current: TransactionPicture) -> None:
        self.transactional_id = transactional_id
        self.current = current
        self.pending: TransactionPicture | None = None
        self.has_unwritten_epoch = False
        self.memory: EntryMemory | None = None
        self.size_bytes = new_transaction_bytes(transactional_id) + partition_bytes(current.partitions)

    @property
    def state(self) -> TransactionState:
        return self.current.state

    @property
    def is_pending(self) -> bool:
        """Whether a record is being written."""
        return self.pending is not None

    @property
    def is_ending(self) -> bool:
        """Whether the transaction's end is decided and its markers are being written."""
        return self.current.state in ENDING_STATES

    def prepare(self, picture: TransactionPicture) -> None:
        """Announce the next picture. Raises InvariantError when it is not legal or another one is pending."""
        invariant(self.pending is None, f"{self.transactional_id}: two changes at the same time")
        is_fence = self._is_fenced_by(picture)
        current = self._with_epoch(picture.producer.epoch) if is_fence else self.current
        check_transition(current, picture)
        self.current = current
        self.has_unwritten_epoch = is_fence or self.has_unwritten_epoch
        self.pending = picture
        self._count_memory(added_bytes(picture, current))

    def complete(self) -> None:
        """The record of the pending picture is committed: adopt the picture."""
        picture = self.pending
        if picture is None:
            invariant(False, f"{self.transactional_id}: no change to complete")
            return
        replaced = self.current
        check_transition(replaced, picture)
        self.current = picture
        self.pending = None
        self.has_unwritten_epoch = False
        self._count_memory(-added_bytes(replaced, picture))

    def reset(self) -> None:
        """The record of the pending picture was certainly not written: drop the picture."""
        picture = self.pending
        if picture is None:
            invariant(False, f"{self.transactional_id}: no change to drop")
            return
        self.pending = None
        self._count_memory(-added_bytes(picture, self.current))

    def _is_fenced_by(self, picture: TransactionPicture) -> bool:
        """Whether the epoch rises without the producer's help.

        With transaction version 2 every end raises the epoch, once, when its record is committed.
        """
        is_abort = self.state is TransactionState.ONGOING and picture.state is TransactionState.PREPARE_ABORT
        is_raised = picture.producer.epoch != self.current.producer.epoch
        return is_abort and is_raised and not picture.bumps_epochs

    def _with_epoch(self, epoch: int) -> TransactionPicture:
        """As in Kafka, the fenced producer is refused from now on, even if the record cannot be written."""
        producer = self.current.producer._replace(epoch=epoch, last_epoch=NO_PRODUCER_EPOCH)
        return self.current._replace(producer=producer)

    def _count_memory(self, change_bytes: int) -> None:
        self.size_bytes += change_bytes
        if self.memory is not None:
            self.memory.used_bytes += change_bytes
