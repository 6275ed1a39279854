"""Verdicts that one connection remembers, so that each of its requests does not ask the authorizer again."""

from ....base.acls import AclOperation, ResourceType
from .authorizer import Authorizer

__all__ = ["MOST_VERDICTS", "Verdicts"]

MOST_VERDICTS = 1024
"""A full memory is emptied: a connection seldom uses so many resources."""


class Verdicts:
    """The verdicts on one principal and host. A change of any ACL forgets them all."""

    __slots__ = ("_authorizer", "_epoch", "_host", "_principal", "_remembered")

    def __init__(self, authorizer: Authorizer, principal: object, host: str) -> None:
        self._authorizer = authorizer
        self._principal = str(principal)
        self._host = host
        self._epoch = authorizer.index.epoch
        self._remembered: dict[tuple[AclOperation, ResourceType, str], bool] = {}

    def __len__(self) -> int:
        return len(self._remembered)

    def may(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        remembered = self._remembered
        if self._epoch != self._authorizer.index.epoch or len(remembered) >= MOST_VERDICTS:
            remembered.clear()
            self._epoch = self._authorizer.index.epoch
        question = (operation, resource_type, name)
        verdict = remembered.get(question)
        if verdict is None:
            verdict = self._authorizer.may(self._principal, self._host, operation, resource_type, name)
            remembered[question] = verdict
        return verdict
