"""Hypothesis strategies of ACLs. There are few names, so that patterns, principals and hosts meet often."""

from collections.abc import Iterable

from hypothesis import strategies as st
from pybroker.base.acls import (
    CONCRETE_OPERATIONS,
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)

PRINCIPALS = ("User:a", "User:b", "Group:a")
HOSTS = ("10.0.0.1", "0:0:0:0:0:0:0:1")
NAMES = ("a", "ab", "abc", "b", "ba", "ä", "ä𝄞", "*")
RESOURCE_TYPES = (AclResourceType.TOPIC, AclResourceType.GROUP)
PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)
PERMISSIONS = (AclPermission.ALLOW, AclPermission.DENY)

operations = st.sampled_from(CONCRETE_OPERATIONS)
patterns = st.builds(
    ResourcePattern, st.sampled_from(RESOURCE_TYPES), st.sampled_from(NAMES), st.sampled_from(PATTERN_TYPES)
)
entries = st.builds(
    AclEntry,
    st.sampled_from((*PRINCIPALS, "User:*")),
    st.sampled_from((*HOSTS, "*")),
    st.sampled_from((*CONCRETE_OPERATIONS, AclOperation.ALL, AclOperation.UNKNOWN)),
    st.sampled_from((*PERMISSIONS, AclPermission.UNKNOWN)),
)
bindings = st.lists(st.builds(AclBinding, patterns, entries), max_size=12)


def by_pattern(acls: Iterable[AclBinding]) -> dict[ResourcePattern, frozenset[AclEntry]]:
    """Pattern → its entries, as an index takes them."""
    found: dict[ResourcePattern, set[AclEntry]] = {}
    for binding in acls:
        found.setdefault(binding.pattern, set()).add(binding.entry)
    return {pattern: frozenset(pattern_entries) for pattern, pattern_entries in found.items()}
