"""The delivery state of a run of records, as the share coordinator stores it (KIP-932)."""

from enum import IntEnum
from typing import NamedTuple

__all__ = ["DeliveryState", "StateBatch"]


class DeliveryState(IntEnum):
    """The stored states. A record that a member holds is acquired (1), which is never stored."""

    AVAILABLE = 0
    ACKNOWLEDGED = 2
    ARCHIVED = 4


class StateBatch(NamedTuple):
    """Records from ``first_offset`` to ``last_offset``, both included, which share a state and a delivery count.

    ``delivery_state``: a number of `DeliveryState`, or any other that a broker wrote.
    """

    first_offset: int
    last_offset: int
    delivery_state: int
    delivery_count: int
