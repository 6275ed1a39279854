"""Remembers verdicts, because a produce or fetch request asks about the same topics as the one before it."""

from itertools import islice
from typing import TypeAlias

from ....base.acl_rules.authorizer import AclAuthorizer
from ....base.acl_rules.host_text import host_text
from ....base.acls import AclOperation, AclResourceType

__all__ = ["LONGEST_NAME", "MOST_VERDICTS", "Question", "Verdicts"]

MOST_VERDICTS = 8192
"""A full memory forgets some of all ages, so that clients that ask in turn about more than these find most of them."""
_FORGOTTEN = 16
"""The share that is forgotten: each sixteenth verdict."""
LONGEST_NAME = 249
"""The longest name of a topic. Longer names are not remembered, so that they cannot fill the memory."""

Question: TypeAlias = tuple[object, str, AclOperation, AclResourceType, str]
"""An immutable principal, its host in any form, the operation, and type and name of the resource."""


class Verdicts:
    """Answers as ``authorizer`` does. A change of any ACL forgets all verdicts."""

    __slots__ = ("_authorizer", "remembered")

    def __init__(self, authorizer: AclAuthorizer) -> None:
        self._authorizer = authorizer
        self.remembered: dict[Question, bool] = {}
        authorizer.index.on_change = self._forget

    def may(
        self, principal: object, host: str, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> bool:
        """``principal`` must be immutable; ``host`` is an address in any form."""
        question = (principal, host, operation, resource_type, name)
        verdict = self.remembered.get(question)
        if verdict is None:
            verdict = self._authorizer.may(principal, host_text(host), operation, resource_type, name)
            if len(name) <= LONGEST_NAME:
                if len(self.remembered) >= MOST_VERDICTS:
                    self._forget_some()
                self.remembered[question] = verdict
        return verdict

    def _forget_some(self) -> None:
        for question in list(islice(self.remembered, 0, None, _FORGOTTEN)):
            del self.remembered[question]

    def _forget(self) -> None:
        self.remembered.clear()
