"""The ACLs in force, indexed by resource and by principal, so that a decision costs no walk over all ACLs.

How: the entries of a pattern become two sets of (principal, host, operation), with ``ALL`` and the implied operations
written out. A second index has the names of the patterns by (principal, host, operation), for questions about any
resource of a type.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ..acls import (
    CONCRETE_OPERATIONS,
    EVERY_HOST,
    EVERY_PRINCIPAL,
    EVERY_RESOURCE,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)

__all__ = ["IMPLIED_OPERATIONS", "AclIndex", "PatternRules", "Right", "rights_of"]

IMPLIED_OPERATIONS: Mapping[AclOperation, AclOperation] = {
    AclOperation.READ: AclOperation.DESCRIBE,
    AclOperation.WRITE: AclOperation.DESCRIBE,
    AclOperation.DELETE: AclOperation.DESCRIBE,
    AclOperation.ALTER: AclOperation.DESCRIBE,
    AclOperation.ALTER_CONFIGS: AclOperation.DESCRIBE_CONFIGS,
}
"""The operation that an allowed operation allows too. A denied operation denies itself only."""

Right = tuple[str, str, AclOperation]
"""Principal or `EVERY_PRINCIPAL`, host or `EVERY_HOST`, operation."""


def rights_of(principal: str, host: str, operation: AclOperation) -> tuple[Right, Right, Right, Right]:
    """The rights each of which covers the operation."""
    return (
        (principal, host, operation),
        (principal, EVERY_HOST, operation),
        (EVERY_PRINCIPAL, host, operation),
        (EVERY_PRINCIPAL, EVERY_HOST, operation),
    )


class PatternRules:
    """The entries of one pattern, compiled."""

    __slots__ = ("allowed", "denied", "entries", "pattern")

    def __init__(self, pattern: ResourcePattern, entries: frozenset[AclEntry]) -> None:
        self.pattern = pattern
        self.entries = entries
        self.denied = frozenset(_written_out(entries, AclPermission.DENY))
        self.allowed = frozenset(_written_out(entries, AclPermission.ALLOW))


def _written_out(entries: Iterable[AclEntry], permission: AclPermission) -> Iterator[Right]:
    for entry in entries:
        if entry.permission is not permission:
            continue
        operations = CONCRETE_OPERATIONS if entry.operation is AclOperation.ALL else (entry.operation,)
        for operation in operations:
            yield entry.principal, entry.host, operation
            if permission is AclPermission.ALLOW and operation in IMPLIED_OPERATIONS:
                yield entry.principal, entry.host, IMPLIED_OPERATIONS[operation]


class _OfType:
    """The patterns of one resource type: by name, and by length and name of the prefix."""

    def __init__(self) -> None:
        self.literal: dict[str, PatternRules] = {}
        self.prefixed: dict[int, dict[str, PatternRules]] = {}

    def put(self, rules: PatternRules) -> None:
        name = rules.pattern.name
        if rules.pattern.pattern_type is PatternType.PREFIXED:
            self.prefixed.setdefault(len(name), {})[name] = rules
        else:
            self.literal[name] = rules

    def remove(self, pattern: ResourcePattern) -> None:
        if pattern.pattern_type is not PatternType.PREFIXED:
            self.literal.pop(pattern.name, None)
            return
        of_length = self.prefixed.get(len(pattern.name), {})
        of_length.pop(pattern.name, None)
        if not of_length:
            self.prefixed.pop(len(pattern.name), None)

    def matching(self, name: str) -> list[PatternRules]:
        found = [rules for key in {name, EVERY_RESOURCE} if (rules := self.literal.get(key)) is not None]
        for length, prefixes in self.prefixed.items():
            if length <= len(name) and (rules := prefixes.get(name[:length])) is not None:
                found.append(rules)
        return found


def _nothing() -> None:
    pass


class _NamesKey(NamedTuple):
    resource_type: AclResourceType
    pattern_type: PatternType
    entry: AclEntry


class AclIndex:
    """The ACLs in force."""

    def __init__(self, acls: Mapping[ResourcePattern, frozenset[AclEntry]] | None = None) -> None:
        self.on_change: Callable[[], None] = _nothing
        """Called after each change, so that remembered verdicts can be forgotten."""
        self._types = {resource_type: _OfType() for resource_type in AclResourceType}
        self._rules: dict[ResourcePattern, PatternRules] = {}
        self._names: dict[_NamesKey, set[str]] = {}
        self.replace(acls or {})

    def replace(self, acls: Mapping[ResourcePattern, frozenset[AclEntry]]) -> None:
        """Set the entries of each pattern of ``acls``; an empty set removes the pattern."""
        for pattern, entries in acls.items():
            self._replace(pattern, entries)
        self.on_change()

    def acls(self) -> Iterator[tuple[ResourcePattern, frozenset[AclEntry]]]:
        return ((pattern, rules.entries) for pattern, rules in self._rules.items())

    def matching(self, resource_type: AclResourceType, name: str) -> list[PatternRules]:
        """The rules of the patterns that apply to a resource, in no order."""
        return self._types[resource_type].matching(name)

    def names(
        self,
        permission: AclPermission,
        pattern_type: PatternType,
        resource_type: AclResourceType,
        rights: Iterable[Right],
    ) -> list[set[str]]:
        """The names of the patterns with an entry for one of ``rights`` or for ``ALL`` operations; none is implied."""
        found = []
        for principal, host, operation in rights:
            for stated in (operation, AclOperation.ALL):
                key = _NamesKey(resource_type, pattern_type, AclEntry(principal, host, stated, permission))
                if (names := self._names.get(key)) is not None:
                    found.append(names)
        return found

    def _replace(self, pattern: ResourcePattern, entries: frozenset[AclEntry]) -> None:
        earlier = self._rules.pop(pattern, None)
        known = earlier.entries if earlier is not None else frozenset()
        for entry in known - entries:
            key = _NamesKey(pattern.resource_type, pattern.pattern_type, entry)
            self._names[key].discard(pattern.name)
            if not self._names[key]:
                del self._names[key]
        for entry in entries - known:
            key = _NamesKey(pattern.resource_type, pattern.pattern_type, entry)
            self._names.setdefault(key, set()).add(pattern.name)
        if entries:
            rules = self._rules[pattern] = PatternRules(pattern, entries)
            self._types[pattern.resource_type].put(rules)
        else:
            self._types[pattern.resource_type].remove(pattern)
