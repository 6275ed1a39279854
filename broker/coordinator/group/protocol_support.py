"""How many members of a group support each protocol, and which protocol the group uses."""

from collections import Counter
from collections.abc import Collection, Iterable

from .member import Member, MemberProtocol

__all__ = ["ProtocolSupport"]


class ProtocolSupport:
    """Counts the members that support a protocol, so that a JoinGroup is checked without going through all members."""

    __slots__ = ("_supporters",)

    def __init__(self) -> None:
        self._supporters: Counter[str] = Counter()

    def copy(self) -> "ProtocolSupport":
        other = ProtocolSupport()
        other._supporters = self._supporters.copy()
        return other

    def add(self, protocols: Iterable[MemberProtocol]) -> None:
        """A member supports these protocols."""
        self._supporters.update({protocol.name for protocol in protocols})

    def remove(self, protocols: Iterable[MemberProtocol]) -> None:
        """A member with these protocols left, or replaces them."""
        for name in {protocol.name for protocol in protocols}:
            self._supporters[name] -= 1
            if not self._supporters[name]:
                del self._supporters[name]

    def has_common(self, protocols: Iterable[MemberProtocol], member_count: int) -> bool:
        """Whether all members support one of these protocols."""
        return any(self._supporters[protocol.name] == member_count for protocol in protocols)

    def select(self, members: Collection[Member]) -> str:
        """The protocol with most votes among those that all members support; at a tie, the earliest vote."""
        candidates = frozenset(name for name, count in self._supporters.items() if count == len(members))
        votes = Counter(member.vote(candidates) for member in members)
        return votes.most_common(1)[0][0]
