"""Rebuilds transactional ids from the records of one ``__transaction_state`` partition."""

from collections.abc import Callable, Iterator

from ....base.kafka_names import TRANSACTION_STATE_TOPIC
from ....protocol.codec import DecodeError
from ....protocol.errors import CoordinatorNotAvailableError
from ....protocol.records.walk import Record
from ..strict_replay import StrictReplay
from .picture import TransactionPicture
from .records import decode_key, decode_value
from .transaction import Transaction

__all__ = ["Replay"]


class Replay(StrictReplay):
    """Implements `Replaying`, whose docstrings are not repeated.

    The newest record of an id counts; a tombstone deletes the id. A record that cannot be read ends the load with a
    KafkaError, unlike a record of a group: without it an outdated record of the id would count, and its transaction
    might be ended in the wrong way.

    ``partition_for``: the partition that an id belongs to.
    """

    topic = TRANSACTION_STATE_TOPIC

    def __init__(self, partition: int, partition_for: Callable[[str], int]) -> None:
        super().__init__(partition)
        self._partition_for = partition_for
        self._pictures: dict[str, TransactionPicture] = {}

    def entries(self) -> Iterator[Transaction]:
        for transactional_id, picture in self._pictures.items():
            self._check_place(transactional_id)
            yield Transaction(transactional_id, picture)

    def _apply(self, record: Record) -> None:
        if record.key is None:
            raise DecodeError("a record without a key")
        transactional_id = decode_key(record.key)
        if record.value is None:
            self._pictures.pop(transactional_id, None)
        else:
            self._pictures[transactional_id] = decode_value(record.value)

    def _check_place(self, transactional_id: str) -> None:
        """Ids move to other partitions when the topic gets more of them: two coordinators would serve one id."""
        expected = self._partition_for(transactional_id)
        if expected != self._partition:
            raise CoordinatorNotAvailableError(
                f"transactional id {transactional_id!r} belongs to partition {expected} of __transaction_state, but is "
                f"stored in partition {self._partition}: the number of partitions of the topic was changed"
            )
