"""Decides by ACLs whether a principal may do an operation on a resource. Pure (Kafka's AclAuthorizer).

1. A super user may do everything.
2. A resource to which no ACL applies is open or closed by ``allow.everyone.if.no.acl.found``.
3. A DENY that applies decides, whatever else is allowed.
4. Otherwise an ALLOW must apply. It may imply the operation (`IMPLIED_OPERATIONS`).
"""

from collections.abc import Iterable
from enum import Enum

from ...base.frozen import frozen
from ..acls import (
    EVERY_RESOURCE,
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
)
from .acl_index import IMPLIED_OPERATIONS, AclIndex, PatternRules, Right, rights_of

__all__ = ["WITHOUT_AUTHORIZER", "AclAuthorizer", "DecidedBy", "Explanation"]


class DecidedBy(Enum):
    NO_AUTHORIZER = "there is no authorizer, because authorizer.class.name is not set"
    SUPER_USER = "super.users names the principal"
    NO_ACL = "no ACL applies to the resource, and allow.everyone.if.no.acl.found decides"
    DENY = "a DENY rule applies"
    ALLOW = "an ALLOW rule applies, and no DENY rule does"
    NO_ALLOW = "ACLs apply to the resource, but none allows the operation"


@frozen
class Explanation:
    """A verdict, and the rule that decided it. ``binding`` is the deciding ACL, if an ACL decided."""

    is_allowed: bool
    decided_by: DecidedBy
    binding: AclBinding | None = None

    def __str__(self) -> str:
        rule = f": {self.binding}" if self.binding is not None else ""
        return f"{'allowed' if self.is_allowed else 'denied'}: {self.decided_by.value}{rule}"


WITHOUT_AUTHORIZER = Explanation(True, DecidedBy.NO_AUTHORIZER)


class AclAuthorizer:
    """``super_users`` and principals have the form ``Type:name``; they are compared as text, as in Kafka.

    ``index`` may change between two questions.
    """

    def __init__(self, index: AclIndex, super_users: Iterable[str] = (), *, allow_everyone: bool = False) -> None:
        self.index = index
        self.super_users = frozenset(super_users)
        self.allow_everyone = allow_everyone

    def may(
        self, principal: object, host: str, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> bool:
        """``principal`` is a text, or an object whose text it is; ``host`` is an address as Java writes it."""
        who = str(principal)
        if who in self.super_users:
            return True
        matching = self.index.matching(resource_type, name)
        if not matching:
            return self.allow_everyone
        rights = rights_of(who, host, operation)
        return all(rules.denied.isdisjoint(rights) for rules in matching) and any(
            not rules.allowed.isdisjoint(rights) for rules in matching
        )

    def may_by_resource_type(
        self, principal: object, host: str, operation: AclOperation, resource_type: AclResourceType
    ) -> bool:
        """Whether the principal may do the operation on at least one resource of the type (KIP-679).

        Only ``operation`` and ALL count here, no implied operation. Unlike `may`, ``allow.everyone.if.no.acl.found``
        allows everything but a DENY on ``*``.
        """
        who = str(principal)
        if who in self.super_users:
            return True
        rights = rights_of(who, host, operation)
        denied = self._names(AclPermission.DENY, PatternType.LITERAL, resource_type, rights)
        if EVERY_RESOURCE in denied:
            return False
        if self.allow_everyone:
            return True
        denied_prefixes = self._names(AclPermission.DENY, PatternType.PREFIXED, resource_type, rights)
        lengths = sorted({len(prefix) for prefix in denied_prefixes})
        if any(
            not _is_covered(name, denied_prefixes, lengths)
            for names in self.index.names(AclPermission.ALLOW, PatternType.PREFIXED, resource_type, rights)
            for name in names
        ):
            return True
        return any(
            name == EVERY_RESOURCE or (name not in denied and not _is_covered(name, denied_prefixes, lengths))
            for names in self.index.names(AclPermission.ALLOW, PatternType.LITERAL, resource_type, rights)
            for name in names
        )

    def _names(
        self,
        permission: AclPermission,
        pattern_type: PatternType,
        resource_type: AclResourceType,
        rights: Iterable[Right],
    ) -> set[str]:
        return set().union(*self.index.names(permission, pattern_type, resource_type, rights))

    def explain(
        self, principal: object, host: str, operation: AclOperation, resource_type: AclResourceType, name: str
    ) -> Explanation:
        """The verdict of `may` with the rule that decides; of several ACLs the most specific one."""
        who = str(principal)
        if who in self.super_users:
            return Explanation(True, DecidedBy.SUPER_USER)
        matching = sorted(self.index.matching(resource_type, name), key=_specificity)
        if not matching:
            return Explanation(self.allow_everyone, DecidedBy.NO_ACL)
        denying = _first(matching, who, host, AclPermission.DENY, [operation])
        if denying is not None:
            return Explanation(False, DecidedBy.DENY, denying)
        bringing = [operation, *(stated for stated, implied in IMPLIED_OPERATIONS.items() if implied is operation)]
        allowing = _first(matching, who, host, AclPermission.ALLOW, bringing)
        if allowing is not None:
            return Explanation(True, DecidedBy.ALLOW, allowing)
        return Explanation(False, DecidedBy.NO_ALLOW)


def _is_covered(name: str, prefixes: set[str], lengths: list[int]) -> bool:
    """Whether ``name`` begins with one of ``prefixes``, whose lengths are ``lengths``."""
    return any(name[:length] in prefixes for length in lengths if length <= len(name))


def _specificity(rules: PatternRules) -> tuple[int, int]:
    """Orders literal names before prefixes, long prefixes before short ones, and the wildcard last."""
    pattern = rules.pattern
    if pattern.pattern_type is PatternType.PREFIXED:
        return 1, -len(pattern.name)
    return (2, 0) if pattern.name == EVERY_RESOURCE else (0, 0)


def _first(
    matching: list[PatternRules], who: str, host: str, permission: AclPermission, operations: list[AclOperation]
) -> AclBinding | None:
    """The first entry in the order of patterns and of operations that applies."""
    for rules in matching:
        for operation in (*operations, AclOperation.ALL):
            for right in rights_of(who, host, operation):
                entry = AclEntry(*right, permission)
                if entry in rules.entries:
                    return AclBinding(rules.pattern, entry)
    return None
