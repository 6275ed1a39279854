"""Tests of the ACLs that a mirror carries to the target, without a cluster."""

import pytest
from pybroker.base.acls import AclBinding, AclEntry, AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.base.acls import ResourcePattern as Pattern
from support.spark.gathered_rows import need_columns

need_columns()

TOPIC = AclResourceType.TOPIC
ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY


def acl(name: str, operation: AclOperation, permission: AclPermission = ALLOW, *, prefixed: bool = False) -> AclBinding:
    pattern_type = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return AclBinding(Pattern(TOPIC, name, pattern_type), AclEntry("User:alice", "*", operation, permission))


def carried(*found: AclBinding) -> list[tuple[str, str, str]]:
    from pybroker.pipeline.mirror.topic_rules import mirrored_acls

    wanted = list(mirrored_acls(found, ["events", "orders"], "east."))
    assert all(each.pattern.pattern_type is PatternType.LITERAL for each in wanted)
    return [(each.pattern.name, each.entry.operation.name, each.entry.permission.name) for each in wanted]


@pytest.mark.parametrize("operation", [AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER_CONFIGS])
def test_right_to_change_a_topic_is_not_carried_but_its_denial_is(operation: AclOperation) -> None:
    assert carried(acl("events", operation)) == []
    assert carried(acl("events", operation, DENY)) == [("east.events", operation.name, "DENY")]


def test_right_to_do_everything_becomes_the_right_to_read() -> None:
    assert carried(acl("events", AclOperation.ALL)) == [("east.events", "READ", "ALLOW")]
    assert carried(acl("events", AclOperation.ALL, DENY)) == [("east.events", "ALL", "DENY")]


def test_acl_of_many_topics_becomes_one_for_each_mirrored_topic_that_it_applies_to() -> None:
    read = AclOperation.READ
    assert carried(acl("*", read, DENY)) == [("east.events", "READ", "DENY"), ("east.orders", "READ", "DENY")]
    assert carried(acl("ev", read, prefixed=True), acl("other", read)) == [("east.events", "READ", "ALLOW")]
