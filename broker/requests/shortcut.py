"""How requests that are like one before are served without the codec."""

from typing import Any, Protocol, runtime_checkable

from ..network.request import Request

__all__ = ["HasShortcut", "Shortcut"]


class Shortcut(Protocol):
    """Of one version of an API, beside its handler."""

    def answer(self, request: Request) -> Any:
        """What its handler would answer, or the answer's bytes, header and all. None: nothing was done, and the request
        is to be decoded; so it has to be when it gets no answer."""

    def learn(self, request: Request, message: Any, answer: Any) -> None:
        """``request`` was decoded to ``message``, and this is what its handler answered: the next may be like it."""


@runtime_checkable
class HasShortcut(Protocol):
    """A handler that is not asked for what its shortcut can answer."""

    def shortcut(self, version: int) -> Shortcut | None:
        """None: this version has none."""
