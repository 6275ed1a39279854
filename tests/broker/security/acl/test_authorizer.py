"""Tests that the authorizer decides as a model of 20 lines does, which walks over all ACLs."""

import re
from collections.abc import Iterable
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.acl_rules.acl_index import AclIndex
from pybroker.base.acl_rules.authorizer import AclAuthorizer, DecidedBy
from pybroker.base.acl_rules.operations_of_types import OPERATIONS_OF_TYPES
from pybroker.base.acls import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from support.acls import (
    HOSTS,
    NAMES,
    PATTERN_TYPES,
    PERMISSIONS,
    PRINCIPALS,
    RESOURCE_TYPES,
    bindings,
    by_pattern,
    operations,
)

ASKED = st.tuples(
    st.sampled_from(PRINCIPALS), st.sampled_from(HOSTS), operations, st.sampled_from(RESOURCE_TYPES),
    st.sampled_from((*NAMES, "abcd", "c")),
)  # fmt: skip
Asked = tuple[str, str, AclOperation, AclResourceType, str]
IMPLYING = {
    "DESCRIBE": "READ|WRITE|DELETE|ALTER",
    "DESCRIBE_CONFIGS": "ALTER_CONFIGS",
}


def model(acls: Iterable[AclBinding], asked: Asked, *, allow_everyone: bool) -> bool:
    """Kafka's rules, one after the other, as its documentation states them."""
    principal, host, operation, resource_type, name = asked

    def applies(pattern: ResourcePattern) -> bool:
        is_prefix = pattern.pattern_type is PatternType.PREFIXED
        fits = name.startswith(pattern.name) if is_prefix else pattern.name in {name, "*"}
        return pattern.resource_type is resource_type and fits

    def concerns(entry: AclEntry, named: str) -> bool:
        return (
            entry.principal in {principal, "User:*"}
            and entry.host in {host, "*"}
            and re.fullmatch(f"ALL|{named}", entry.operation.name) is not None
        )

    entries = [entry for pattern, entry in acls if applies(pattern)]
    if not entries:
        return allow_everyone
    if any(entry.permission is AclPermission.DENY and concerns(entry, operation.name) for entry in entries):
        return False
    named = f"{operation.name}|{IMPLYING.get(operation.name, 'ALL')}"
    return any(entry.permission is AclPermission.ALLOW and concerns(entry, named) for entry in entries)


def authorizer(acls: Iterable[AclBinding], *super_users: str, allow_everyone: bool = False) -> AclAuthorizer:
    return AclAuthorizer(AclIndex(by_pattern(acls)), super_users, allow_everyone=allow_everyone)


def allow(name: str, operation: AclOperation = AclOperation.READ, *, prefixed: bool = False) -> AclBinding:
    pattern_type = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    pattern = ResourcePattern(AclResourceType.TOPIC, name, pattern_type)
    return AclBinding(pattern, AclEntry("User:a", "*", operation, AclPermission.ALLOW))


def deny(name: str, operation: AclOperation = AclOperation.READ, *, prefixed: bool = False) -> AclBinding:
    pattern, entry = allow(name, operation, prefixed=prefixed)
    return AclBinding(pattern, entry._replace(permission=AclPermission.DENY))


@given(bindings, ASKED, st.booleans())
def test_authorizer_decides_as_the_model_does(acls: list[AclBinding], asked: Asked, allow_everyone: bool) -> None:
    verdict = authorizer(acls, allow_everyone=allow_everyone).may(*asked)
    assert verdict is model(acls, asked, allow_everyone=allow_everyone)


@given(bindings, bindings, ASKED)
def test_changed_index_decides_as_an_index_built_anew(
    before: list[AclBinding], after: list[AclBinding], asked: Asked
) -> None:
    changed = AclIndex(by_pattern(before))
    gone = {pattern: frozenset[AclEntry]() for pattern in by_pattern(before)}
    changed.replace({**gone, **by_pattern(after)})
    assert dict(changed.acls()) == by_pattern(after)
    mine, anew = AclAuthorizer(changed), authorizer(after)
    assert mine.may(*asked) is anew.may(*asked)
    assert mine.may_by_resource_type(*asked[:4]) is anew.may_by_resource_type(*asked[:4])


@given(bindings, ASKED, st.booleans())
def test_explanation_names_a_rule_that_leads_to_the_verdict(
    acls: list[AclBinding], asked: Asked, allow_everyone: bool
) -> None:
    decider = authorizer(acls, allow_everyone=allow_everyone)
    explanation = decider.explain(*asked)
    assert explanation.is_allowed is decider.may(*asked)
    assert (explanation.binding is not None) is (explanation.decided_by in (DecidedBy.ALLOW, DecidedBy.DENY))
    if explanation.binding is not None:
        assert explanation.binding in acls
        assert model([explanation.binding], asked, allow_everyone=False) is explanation.is_allowed
        wanted = AclPermission.ALLOW if explanation.is_allowed else AclPermission.DENY
        assert explanation.binding.entry.permission is wanted


def test_explanation_reads_as_a_sentence_and_prefers_the_most_specific_rule() -> None:
    decider = authorizer([allow("*"), allow("or", prefixed=True), allow("ord", prefixed=True)], "User:root")
    told = str(decider.explain("User:a", "10.0.0.1", AclOperation.DESCRIBE, AclResourceType.TOPIC, "orders"))
    assert told == (
        "allowed: an ALLOW rule applies, and no DENY rule does: User:a may Read from host * on Topic:PREFIXED:ord"
    )
    by_name = decider.explain("User:root", "10.0.0.1", AclOperation.WRITE, AclResourceType.TOPIC, "orders")
    assert str(by_name) == "allowed: super.users names the principal"


@given(bindings, ASKED)
def test_super_user_may_do_everything(acls: list[AclBinding], asked: Asked) -> None:
    decider = authorizer(acls, asked[0])
    assert decider.may(*asked)
    assert decider.may_by_resource_type(*asked[:4])
    assert decider.explain(*asked).decided_by is DecidedBy.SUPER_USER


def test_rule_for_another_user_on_a_prefix_closes_the_resource_to_everyone_else() -> None:
    asked = ("User:b", "10.0.0.1", AclOperation.READ, AclResourceType.TOPIC, "orders")
    assert authorizer([], allow_everyone=True).may(*asked)
    assert not authorizer([allow("or", prefixed=True)], allow_everyone=True).may(*asked)


def test_denied_read_leaves_describe_allowed() -> None:
    decider = authorizer([allow("t", AclOperation.ALL), deny("t", AclOperation.READ)])
    assert not decider.may("User:a", "h", AclOperation.READ, AclResourceType.TOPIC, "t")
    assert decider.may("User:a", "h", AclOperation.DESCRIBE, AclResourceType.TOPIC, "t")


@pytest.mark.parametrize("principal", ["user:a", "User:A", "Group:a", "User:a "])
def test_principal_is_compared_exactly(principal: str) -> None:
    assert not authorizer([allow("t")]).may(principal, "h", AclOperation.READ, AclResourceType.TOPIC, "t")


def may_on_some_name(acls: list[AclBinding], asked: Asked) -> bool:
    """Whether the principal may do the operation, by a rule for itself or ALL, on a name that the ACLs can tell apart.

    A name of one more character stands for all the names that begin with a pattern's name.
    """
    plain = [(pattern, entry) for pattern, entry in acls if entry.operation in (asked[2], AclOperation.ALL)]
    known = {pattern.name for pattern, _ in acls}
    names = {name + tail for name in known for tail in ("", "~")} | {"~"}
    plain_bindings = [AclBinding(*binding) for binding in plain]
    return any(model(plain_bindings, (*asked[:4], name), allow_everyone=False) for name in names - {"*"})


WRITE_RULES = st.lists(
    st.builds(
        AclBinding,
        st.builds(
            ResourcePattern, st.just(AclResourceType.TOPIC), st.sampled_from(NAMES), st.sampled_from(PATTERN_TYPES)
        ),
        st.builds(
            AclEntry,
            st.sampled_from(("User:a", "User:*")),
            st.just("*"),
            st.sampled_from((AclOperation.WRITE, AclOperation.ALL)),
            st.sampled_from(PERMISSIONS),
        ),
    ),
    max_size=8,
)
"""Rules that all concern one question, so that DENY rules often meet ALLOW rules."""


@given(bindings, ASKED)
def test_right_on_any_resource_is_found_exactly_when_some_name_may_be_used(
    acls: list[AclBinding], asked: Asked
) -> None:
    assert authorizer(acls).may_by_resource_type(*asked[:4]) is may_on_some_name(acls, asked)


@given(WRITE_RULES)
def test_right_to_write_to_any_topic_is_found_exactly_when_some_topic_may_be_written(acls: list[AclBinding]) -> None:
    asked = ("User:a", "h", AclOperation.WRITE, AclResourceType.TOPIC, "")
    assert authorizer(acls).may_by_resource_type(*asked[:4]) is may_on_some_name(acls, asked)


@given(WRITE_RULES, st.sampled_from((*NAMES, "abcd", "c")))
def test_authorizer_decides_as_the_model_does_where_rules_meet(acls: list[AclBinding], name: str) -> None:
    asked = ("User:a", "h", AclOperation.WRITE, AclResourceType.TOPIC, name)
    assert authorizer(acls).may(*asked) is model(acls, asked, allow_everyone=False)


def test_everyone_may_use_any_resource_unless_the_wildcard_is_denied() -> None:
    asked = ("User:a", "h", AclOperation.WRITE, AclResourceType.TOPIC)
    assert authorizer([deny("x", AclOperation.WRITE)], allow_everyone=True).may_by_resource_type(*asked)
    assert not authorizer([deny("*", AclOperation.WRITE)], allow_everyone=True).may_by_resource_type(*asked)


def test_operations_of_a_type_are_those_of_kafka() -> None:
    everything = [sum(1 << operation for operation in kinds) for kinds in OPERATIONS_OF_TYPES.values()]
    assert everything[:3] == [3576, 328, 8096]  # what Kafka answers without an authorizer: topic, group, cluster


def test_names_tell_apart_every_combination_of_pattern_and_name() -> None:
    for name, other in product(NAMES, NAMES):
        literal = authorizer([allow(name)]).may("User:a", "h", AclOperation.READ, AclResourceType.TOPIC, other)
        assert literal is (name in (other, "*")), (name, other)
