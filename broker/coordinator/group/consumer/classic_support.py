"""Counts the members of a consumer group that use the classic protocol, and the protocols that they support."""

from collections.abc import Collection

from ..member import MemberProtocol
from ..protocol_support import ProtocolSupport
from ..subscriptions import CONSUMER_PROTOCOL_TYPE
from .records import MemberMetadata

__all__ = ["ClassicSupport"]


class ClassicSupport:
    """``count``: how many members use the classic protocol."""

    __slots__ = ("_protocols", "count")

    def __init__(self) -> None:
        self.count = 0
        self._protocols = ProtocolSupport()

    def copy(self) -> "ClassicSupport":
        other = ClassicSupport()
        other.count, other._protocols = self.count, self._protocols.copy()
        return other

    def add(self, metadata: MemberMetadata) -> None:
        if metadata.classic is not None:
            self.count += 1
            self._protocols.add(metadata.classic.protocols)

    def remove(self, metadata: MemberMetadata) -> None:
        if metadata.classic is not None:
            self.count -= 1
            self._protocols.remove(metadata.classic.protocols)

    def supports(self, protocol_type: str, protocols: Collection[MemberProtocol]) -> bool:
        """Whether a member with these protocols shares one with all members that use the classic protocol."""
        return protocol_type == CONSUMER_PROTOCOL_TYPE and self._protocols.has_common(protocols, self.count)
