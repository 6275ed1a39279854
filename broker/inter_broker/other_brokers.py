"""How the coordinators of this broker reach coordinators and leaders on other brokers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...protocol.errors import ErrorCode
from ...replication.transaction_checks import TransactionPart
from ..coordinator.share.ports import OtherShareCoordinators
from ..coordinator.transaction.end_markers import MarkersToWrite
from ..coordinator.transaction.marker_delivery import MarkerCodes

__all__ = ["OtherBrokers"]

Answered = Callable[[ErrorCode], None]


class OtherBrokers(NamedTuple):
    """The ways from this broker to others.

    Attributes:
        ask_about_transaction: as `TransactionChecks` needs it, with the partition that stores a transactional id.
        send_markers: as `MarkerPorts.send`.
        share_coordinators: those on other brokers.
    """

    ask_about_transaction: Callable[[TransactionPart, Callable[[str], int], Answered], None]
    send_markers: Callable[[int, Sequence[MarkersToWrite], Callable[[MarkerCodes | None], None]], None]
    share_coordinators: OtherShareCoordinators
