"""Appends that build on one another: when one is refused, those behind it are refused too.

**Why.** A coordinator decides a change on the state that the changes before it lead to. Several of them may wait for
the log at once. If the first found no space and the second did, the log would say what never was.
"""

from ...protocol.errors import KafkaStorageError

__all__ = ["UNCHAINED", "AppendChain"]


class AppendChain:
    """The appends of one state in memory. After a refusal the state is read anew, and its appends are another chain."""

    __slots__ = ("_is_broken",)

    def __init__(self) -> None:
        self._is_broken = False

    def break_off(self) -> None:
        """Refuse the further appends of the chain."""
        self._is_broken = True

    def check(self) -> None:
        """Raise KafkaStorageError when an append of the chain was refused."""
        if self._is_broken:
            raise KafkaStorageError("an append before this one, on which it builds, was refused")


class _Unchained(AppendChain):
    """The chain of appends that build on none."""

    __slots__ = ()

    def break_off(self) -> None:
        """Refuse nothing."""


UNCHAINED: AppendChain = _Unchained()
