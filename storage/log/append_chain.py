"""Appends that build on one another: when one is refused, those behind it are refused too.

**Why.** A coordinator decides a change on the state that the changes before it lead to. Several of them may wait for
the log at once. If the first found no space and the second did, the log would say what never was.
"""

from ...protocol.errors import KafkaStorageError

__all__ = ["UNCHAINED", "AppendChain"]


class AppendChain:
    """The appends of one state in memory. After a refusal the state is read anew, and its appends are another chain.

    ``follower``: for appends behind those of the chain on which none of them builds.
    """

    __slots__ = ("_is_broken", "follower")

    def __init__(self) -> None:
        self._is_broken = False
        self.follower: AppendChain = _Follower(self)

    def break_off(self) -> None:
        """Refuse the further appends of the chain, and its followers."""
        self._is_broken = True

    def check(self) -> None:
        """Raise KafkaStorageError when the chain is broken."""
        if self._is_broken:
            raise KafkaStorageError("an append before this one, on which it builds, was refused")


class _Follower(AppendChain):
    """Refused like the chain; its own refusals do not matter to the chain."""

    __slots__ = ("_chain",)

    def __init__(self, chain: AppendChain) -> None:
        self._chain = chain
        self.follower = self

    def break_off(self) -> None:
        """Nothing builds on this append."""

    def check(self) -> None:
        self._chain.check()


UNCHAINED = AppendChain().follower
