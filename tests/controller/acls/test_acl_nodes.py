"""Tests of the nodes that contain ACLs, and of their notifications."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.acls import (
    CONCRETE_OPERATIONS,
    CONCRETE_RESOURCE_TYPES,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from pybroker.controller.tree import acl_nodes
from pybroker.controller.tree.znodes import ZnodeDecodeError

NAMES = st.text(st.characters(codec="utf-8"), max_size=12).filter(acl_nodes.is_storable)
PATTERNS = st.builds(
    ResourcePattern,
    st.sampled_from(CONCRETE_RESOURCE_TYPES),
    NAMES,
    st.sampled_from((PatternType.LITERAL, PatternType.PREFIXED)),
)
ENTRIES = st.builds(
    AclEntry,
    st.text(st.characters(codec="utf-8"), max_size=8).map(lambda name: f"User:{name}"),
    st.sampled_from(("*", "10.0.0.1", "0:0:0:0:0:0:0:1")),
    st.sampled_from((*CONCRETE_OPERATIONS, AclOperation.ALL, AclOperation.UNKNOWN)),
    st.sampled_from((AclPermission.ALLOW, AclPermission.DENY, AclPermission.UNKNOWN)),
)
ACL = {"principal": "User:a", "permissionType": "Allow", "operation": "Read", "host": "*"}
PATH = "/kafka-acl/Topic/t"


@given(st.frozensets(ENTRIES, max_size=5))
def test_decoded_entries_are_those_encoded(entries: frozenset[AclEntry]) -> None:
    assert acl_nodes.decode_acls(PATH, acl_nodes.encode_acls(entries)) == entries


@given(PATTERNS)
def test_notification_names_its_pattern(pattern: ResourcePattern) -> None:
    path = f"{acl_nodes.change_prefix(pattern.pattern_type)}0000000001"
    assert acl_nodes.decode_acl_change(path, acl_nodes.encode_acl_change(pattern)) == pattern


@given(PATTERNS, PATTERNS)
def test_each_pattern_has_a_node_of_its_own(one: ResourcePattern, other: ResourcePattern) -> None:
    assert (acl_nodes.acl_path(one) == acl_nodes.acl_path(other)) is (one == other)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        (ResourcePattern(AclResourceType.TOPIC, "*", PatternType.LITERAL), "/kafka-acl/Topic/*"),
        (
            ResourcePattern(AclResourceType.TRANSACTIONAL_ID, "t", PatternType.LITERAL),
            "/kafka-acl/TransactionalId/t",
        ),
        (
            ResourcePattern(AclResourceType.DELEGATION_TOKEN, "t", PatternType.PREFIXED),
            "/kafka-acl-extended/prefixed/DelegationToken/t",
        ),
    ],
)
def test_paths_are_those_of_kafka(pattern: ResourcePattern, path: str) -> None:
    assert acl_nodes.acl_path(pattern) == path


def test_json_is_that_of_kafka() -> None:
    entry = AclEntry("User:CN=a,O=b", "10.0.0.1", AclOperation.DESCRIBE_CONFIGS, AclPermission.DENY)
    assert json.loads(acl_nodes.encode_acls(frozenset({entry}))) == {
        "version": 1,
        "acls": [
            {
                "principal": "User:CN=a,O=b",
                "permissionType": "Deny",
                "operation": "DescribeConfigs",
                "host": "10.0.0.1",
            }
        ],
    }


def test_notifications_are_those_of_kafka() -> None:
    literal = ResourcePattern(AclResourceType.TRANSACTIONAL_ID, "a:b", PatternType.LITERAL)
    assert acl_nodes.encode_acl_change(literal) == b"TRANSACTIONAL_ID:a:b"
    prefixed = ResourcePattern(AclResourceType.GROUP, "g", PatternType.PREFIXED)
    assert json.loads(acl_nodes.encode_acl_change(prefixed)) == {
        "version": 1, "resourceType": "GROUP", "name": "g", "patternType": "PREFIXED",
    }  # fmt: skip
    assert acl_nodes.change_prefix(PatternType.LITERAL) == "/kafka-acl-changes/acl_changes_"
    assert acl_nodes.change_prefix(PatternType.PREFIXED) == "/kafka-acl-extended-changes/acl_changes_"


def test_notification_in_pascal_case_is_understood() -> None:
    found = acl_nodes.decode_acl_change("/kafka-acl-changes/acl_changes_1", b"TransactionalId:t")
    assert found == ResourcePattern(AclResourceType.TRANSACTIONAL_ID, "t", PatternType.LITERAL)


@pytest.mark.parametrize("operation", ["READ", "read", "Read"])
def test_names_in_entries_may_have_any_case(operation: str) -> None:
    (entry,) = acl_nodes.decode_acls(
        PATH, json.dumps({"version": 1, "acls": [{**ACL, "operation": operation}]}).encode()
    )
    assert entry == AclEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)


@pytest.mark.parametrize("operation", ["DESCRIBE_CONFIGS", "Reed", ""])
def test_unknown_operation_is_kept_and_matches_nothing(operation: str) -> None:
    (entry,) = acl_nodes.decode_acls(
        PATH, json.dumps({"version": 1, "acls": [{**ACL, "operation": operation}]}).encode()
    )
    assert entry.operation is AclOperation.UNKNOWN


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"\xff",
        b'{"acls":[]}',
        b'{"version":2,"acls":[]}',
        b'{"version":1}',
        b'{"version":1,"acls":[1]}',
        *(
            json.dumps(
                {"version": 1, "acls": [{name: value for name, value in ACL.items() if name != missing}]}
            ).encode()
            for missing in ACL
        ),
        json.dumps({"version": 1, "acls": [{**ACL, "principal": "alice"}]}).encode(),
    ],
)
def test_entries_that_cannot_be_decoded_are_an_error(data: bytes) -> None:
    with pytest.raises(ZnodeDecodeError, match=PATH):
        acl_nodes.decode_acls(PATH, data)


@pytest.mark.parametrize(
    ("path", "data"),
    [
        ("/kafka-acl-changes/acl_changes_1", b"Topic"),
        ("/kafka-acl-changes/acl_changes_1", b"Any:t"),
        ("/kafka-acl-changes/acl_changes_1", b"\xff:t"),
        ("/kafka-acl-extended-changes/acl_changes_1", b"TOPIC:t"),
        (
            "/kafka-acl-extended-changes/acl_changes_1",
            b'{"version":2,"resourceType":"TOPIC","name":"t","patternType":"PREFIXED"}',
        ),
        (
            "/kafka-acl-extended-changes/acl_changes_1",
            b'{"version":1,"resourceType":"TOPIC","name":"t","patternType":"MATCH"}',
        ),
    ],
)
def test_notification_that_cannot_be_decoded_is_an_error(path: str, data: bytes) -> None:
    with pytest.raises(ZnodeDecodeError, match=path):
        acl_nodes.decode_acl_change(path, data)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\n", "\x7f", "\x00", "\ue000", "\uffff", "𝄞"])
def test_names_that_zookeeper_refuses_are_not_storable(name: str) -> None:
    assert not acl_nodes.is_storable(name)


@pytest.mark.parametrize("name", ["*", "a.b", "...", "ä", "a b", "a:b", "\u2028"])
def test_other_names_are_storable(name: str) -> None:
    assert acl_nodes.is_storable(name)


def test_empty_node_has_no_entries() -> None:
    assert acl_nodes.decode_acls(PATH, b"") == frozenset()
