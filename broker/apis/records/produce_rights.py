"""The right to a transactional id that a Produce request needs, and the error of a topic without the right to write.

The batches decide which rights a request needs, not its fields, because the log takes the batches.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Protocol

from ....base.acls import AclOperation, AclResourceType
from ....protocol.codec import Records
from ....protocol.errors import KafkaError, TopicAuthorizationError, TransactionalIdAuthorizationError
from ....protocol.messages.produce import TopicProduceData
from ....protocol.records.batch import MAGIC_POSITION
from ...requests.context import CloseConnectionError, RequestContext

__all__ = ["TRANSACTIONAL", "require_right_to_transaction", "topic_denial"]

TRANSACTIONAL = 0x10
"""In a batch's attributes."""
_MAGIC_AND_ATTRIBUTES = Struct(">bIh")  # with the checksum between them


class _Produce(Protocol):
    @property
    def acks(self) -> int: ...

    @property
    def topic_data(self) -> list[TopicProduceData]: ...


def require_right_to_transaction(context: RequestContext, request: _Produce, transactional_id: str) -> None:
    """Raises TransactionalIdAuthorizationError for the whole request; CloseConnectionError if it gets no response."""
    if not any(map(_is_transactional, _batches(request))):
        return
    if context.may(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, transactional_id):
        return
    if not request.acks:
        raise CloseConnectionError("produce with acks=0 failed: the client may not write with its transactional id")
    raise TransactionalIdAuthorizationError()


def topic_denial(transactional_id: str | None, records: Records | None) -> KafkaError:
    """The error of a topic that the client may not write to; that of transactions without an id comes before it."""
    lacks_id = transactional_id is None and _is_transactional(records)
    return TransactionalIdAuthorizationError() if lacks_id else TopicAuthorizationError()


def _batches(request: _Produce) -> Iterator[Records | None]:
    return (data.records for topic in request.topic_data for data in topic.partition_data)


def _is_transactional(records: Records | None) -> bool:
    if not isinstance(records, memoryview | bytes | bytearray):
        return False
    if len(records) < MAGIC_POSITION + _MAGIC_AND_ATTRIBUTES.size:
        return False
    magic, _, attributes = _MAGIC_AND_ATTRIBUTES.unpack_from(records, MAGIC_POSITION)
    return magic == 2 and bool(attributes & TRANSACTIONAL)
