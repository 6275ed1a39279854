"""Acknowledgements of records that a member holds: accept, release, reject, gap, or renew (KIP-932, KIP-1222)."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from ...protocol.errors import InvalidRequestError
from .record_runs import RecordState

__all__ = ["AcknowledgeType", "Acknowledgement", "check_acknowledgements"]


class AcknowledgeType(IntEnum):
    """The types of the protocol."""

    GAP = 0
    """There is no record at the offset."""
    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4

    @property
    def state(self) -> RecordState:
        """The state that the records get, unless they are released and were delivered too often."""
        if self is AcknowledgeType.ACCEPT:
            return RecordState.ACKNOWLEDGED
        return RecordState.AVAILABLE if self is AcknowledgeType.RELEASE else RecordState.ARCHIVED


_TYPES = tuple(AcknowledgeType)


class Acknowledgement(NamedTuple):
    """The records from ``first`` to ``last``, with one type for all of them, or one for each."""

    first: int
    last: int
    types: Sequence[int]

    def parts(self, start_offset: int) -> Iterator[tuple[int, int, AcknowledgeType]]:
        """First offset, last offset and type of neighbours with the same type, from ``start_offset`` on."""
        first = max(self.first, start_offset)
        if len(self.types) == 1:
            if first <= self.last:
                yield first, self.last, _TYPES[self.types[0]]
            return
        types = self.types[first - self.first :]
        if not types:
            return
        before = types[0]
        for offset, type_ in enumerate(types, first):
            if type_ != before:
                yield first, offset - 1, _TYPES[before]
                first, before = offset, type_
        yield first, self.last, _TYPES[before]


def check_acknowledgements(
    acknowledgements: Sequence[Acknowledgement], *, knows_renew: bool, may_renew: bool, max_types: int
) -> None:
    """Raises InvalidRequestError unless all are in order and their types are known.

    ``max_types``: the most types in one of them, because no share partition has more records in flight.
    """
    last_type = AcknowledgeType.RENEW if knows_renew else AcknowledgeType.REJECT
    end = -1
    for first, last, types in acknowledgements:
        if first > last or first < end or not 0 < len(types) <= max_types:
            raise InvalidRequestError("the acknowledged offsets are not in order, or have no types")
        if len(types) > 1 and last - first != len(types) - 1:
            raise InvalidRequestError("there are not as many acknowledge types as offsets")
        if min(types) < AcknowledgeType.GAP or max(types) > last_type:
            raise InvalidRequestError("an acknowledge type is unknown")
        if not may_renew and AcknowledgeType.RENEW in types:
            raise InvalidRequestError("the request renews locks without saying so")
        end = last
