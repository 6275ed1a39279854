"""Filters of DescribeAcls and DeleteAcls (Kafka's AclBindingFilter). None, or ``ANY``, matches everything."""

from typing import NamedTuple

from ....base.acls import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)

__all__ = ["AclFilter", "EntryFilter", "PatternFilter"]

_TYPES_THAT_NAME_A_PATTERN = (PatternType.LITERAL, PatternType.PREFIXED)


class PatternFilter(NamedTuple):
    """``PatternType.MATCH`` finds the patterns that apply to the resource ``name``; other types compare the name."""

    resource_type: AclResourceType = AclResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY

    def matches(self, pattern: ResourcePattern) -> bool:
        if self.resource_type not in (AclResourceType.ANY, pattern.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, pattern.pattern_type):
            return False
        if self.name is None:
            return True
        if self.pattern_type is PatternType.MATCH:
            return pattern.matches(self.name)
        return self.name == pattern.name

    def named_patterns(self) -> tuple[ResourcePattern, ...]:
        """The only patterns that can match; empty if there may be others."""
        if self.resource_type in (AclResourceType.ANY, AclResourceType.UNKNOWN) or self.name is None:
            return ()
        if self.pattern_type is PatternType.ANY:
            types: tuple[PatternType, ...] = _TYPES_THAT_NAME_A_PATTERN
        elif self.pattern_type in _TYPES_THAT_NAME_A_PATTERN:
            types = (self.pattern_type,)
        else:
            return ()
        return tuple(ResourcePattern(self.resource_type, self.name, pattern_type) for pattern_type in types)


class EntryFilter(NamedTuple):
    """Principal and host are compared as text: ``User:*`` finds only entries for ``User:*``."""

    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: AclPermission = AclPermission.ANY

    def matches(self, entry: AclEntry) -> bool:
        return (
            self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (AclOperation.ANY, entry.operation)
            and self.permission in (AclPermission.ANY, entry.permission)
        )


class AclFilter(NamedTuple):
    pattern: PatternFilter = PatternFilter()
    entry: EntryFilter = EntryFilter()

    def matches(self, binding: AclBinding) -> bool:
        return self.pattern.matches(binding.pattern) and self.entry.matches(binding.entry)
