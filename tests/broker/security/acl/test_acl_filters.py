"""Tests of the filters of DescribeAcls and DeleteAcls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.acl_rules.acl_index import AclIndex
from pybroker.base.acls import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from pybroker.broker.security.acl.acl_filters import AclFilter, EntryFilter, PatternFilter
from support.acls import NAMES, by_pattern, entries, patterns

ENTRY = AclEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
FILTERS = st.builds(
    PatternFilter,
    st.sampled_from((AclResourceType.ANY, AclResourceType.TOPIC, AclResourceType.USER)),
    st.sampled_from((None, *NAMES, "abcd")),
    st.sampled_from((PatternType.ANY, PatternType.MATCH, PatternType.LITERAL, PatternType.PREFIXED)),
)


def pattern(name: str, pattern_type: PatternType = PatternType.LITERAL) -> ResourcePattern:
    return ResourcePattern(AclResourceType.TOPIC, name, pattern_type)


@pytest.mark.parametrize(
    ("name", "pattern_type", "is_found"),
    [
        ("ab", PatternType.LITERAL, True),
        ("*", PatternType.LITERAL, True),
        ("a", PatternType.LITERAL, False),
        ("a", PatternType.PREFIXED, True),
        ("ab", PatternType.PREFIXED, True),
        ("abc", PatternType.PREFIXED, False),
        ("*", PatternType.PREFIXED, False),
    ],
)
def test_match_finds_the_patterns_that_apply_to_a_resource(
    name: str, pattern_type: PatternType, is_found: bool
) -> None:
    wanted = PatternFilter(AclResourceType.TOPIC, "ab", PatternType.MATCH)
    assert wanted.matches(pattern(name, pattern_type)) is is_found


@given(FILTERS.filter(lambda found: found.name is not None), patterns)
def test_match_agrees_with_the_patterns_that_the_authorizer_asks(wanted: PatternFilter, other: ResourcePattern) -> None:
    wanted = wanted._replace(resource_type=other.resource_type, pattern_type=PatternType.MATCH)
    index = AclIndex({other: frozenset({ENTRY})})
    assert wanted.name is not None
    assert wanted.matches(other) is bool(index.matching(other.resource_type, wanted.name))


@given(FILTERS, patterns)
def test_named_patterns_are_all_that_can_match(wanted: PatternFilter, other: ResourcePattern) -> None:
    named = wanted.named_patterns()
    assert all(wanted.matches(found) for found in named)
    if named:
        assert wanted.matches(other) is (other in named)
    else:
        assert wanted.name is None or AclResourceType.ANY is wanted.resource_type or (
            wanted.pattern_type is PatternType.MATCH
        )  # fmt: skip


@given(patterns, entries)
def test_filter_that_states_everything_finds_only_its_binding(found: ResourcePattern, entry: AclEntry) -> None:
    if AclPermission.UNKNOWN is entry.permission or AclOperation.UNKNOWN is entry.operation:
        return
    wanted = AclFilter(PatternFilter(*found), EntryFilter(*entry))
    assert wanted.matches(AclBinding(found, entry))
    for changed in (
        entry._replace(principal="User:other"),
        entry._replace(host="other"),
        entry._replace(operation=AclOperation.UNKNOWN),
        entry._replace(permission=AclPermission.UNKNOWN),
    ):
        assert not wanted.matches(AclBinding(found, changed))
    assert not wanted.matches(AclBinding(found._replace(name="other"), entry))


@given(patterns, entries)
def test_empty_filter_finds_every_acl(found: ResourcePattern, entry: AclEntry) -> None:
    assert AclFilter().matches(AclBinding(found, entry))


def test_principal_of_everyone_in_a_filter_finds_only_the_rules_that_name_it() -> None:
    wanted = EntryFilter(principal="User:*")
    assert not wanted.matches(ENTRY)
    assert wanted.matches(ENTRY._replace(principal="User:*"))


def test_patterns_of_an_index_are_those_given() -> None:
    given_acls = by_pattern([AclBinding(pattern("a"), ENTRY), AclBinding(pattern("a", PatternType.PREFIXED), ENTRY)])
    assert dict(AclIndex(given_acls).acls()) == given_acls
