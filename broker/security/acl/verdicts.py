"""Remembers verdicts, because a produce or fetch request asks about the same topics as the one before it."""

from ....base.acls import AclOperation, AclResourceType
from .authorizer import AclAuthorizer
from .host_text import host_text

__all__ = ["LONGEST_NAME", "MOST_VERDICTS", "Verdicts"]

MOST_VERDICTS = 8192
"""A full memory is emptied."""
LONGEST_NAME = 249
"""The longest name of a topic. Longer names are not remembered, so that they cannot fill the memory."""


class Verdicts:
    """Answers as ``authorizer`` does. A change of any ACL forgets all verdicts."""

    __slots__ = ("_authorizer", "_epoch", "_remembered")

    def __init__(self, authorizer: AclAuthorizer) -> None:
        self._authorizer = authorizer
        self._epoch = authorizer.index.epoch
        self._remembered: dict[tuple[object, str, AclOperation, AclResourceType, str], bool] = {}

    def __len__(self) -> int:
        return len(self._remembered)

    def may(
        self, principal: object, host: str, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> bool:
        """``principal`` must be immutable; ``host`` is an address in any form."""
        if self._epoch != self._authorizer.index.epoch or len(self._remembered) >= MOST_VERDICTS:
            self._forget()
        question = (principal, host, operation, resource_type, name)
        verdict = self._remembered.get(question)
        if verdict is None:
            verdict = self._authorizer.may(principal, host_text(host), operation, resource_type, name)
            if len(name) <= LONGEST_NAME:
                self._remembered[question] = verdict
        return verdict

    def _forget(self) -> None:
        self._remembered.clear()
        self._epoch = self._authorizer.index.epoch
