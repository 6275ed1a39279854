"""The nodes of Kafka's tree that contain ACLs: paths, contents and notifications (Kafka's ZkAclStore, AclEntry).

Each resource pattern with ACLs has a node. A notification names a pattern whose node has changed.
"""

from ...base.acls import (
    CONCRETE_RESOURCE_TYPES,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from .znode_json import JsonNode, ZnodeDecodeError, decode_text, encode_json

__all__ = [
    "ACL_PATHS",
    "CHANGES_PATHS",
    "acl_path",
    "acl_type_path",
    "change_number",
    "change_prefix",
    "decode_acl_change",
    "decode_acls",
    "encode_acl_change",
    "encode_acls",
    "is_storable",
]

PATTERN_TYPES = (PatternType.LITERAL, PatternType.PREFIXED)
_ROOTS = {PatternType.LITERAL: "/kafka-acl", PatternType.PREFIXED: "/kafka-acl-extended/prefixed"}
_CHANGES = {PatternType.LITERAL: "/kafka-acl-changes", PatternType.PREFIXED: "/kafka-acl-extended-changes"}
_CHANGE_NAME = "acl_changes_"
CHANGES_PATHS = tuple(_CHANGES.values())
_VERSION = 1


def acl_type_path(resource_type: AclResourceType, pattern_type: PatternType) -> str:
    """The parent of the nodes of one resource type and pattern type."""
    return f"{_ROOTS[pattern_type]}/{resource_type.pascal_name}"


ACL_PATHS = (
    *(acl_type_path(kind, pattern_type) for pattern_type in PATTERN_TYPES for kind in CONCRETE_RESOURCE_TYPES),
    *CHANGES_PATHS,
)
"""The nodes that must exist before ACLs are written, without their parents."""


def acl_path(pattern: ResourcePattern) -> str:
    return f"{acl_type_path(pattern.resource_type, pattern.pattern_type)}/{pattern.name}"


def is_storable(name: str) -> bool:
    """Whether a node can have this name: ZooKeeper forbids slashes, dots, control characters and characters beyond
    16 bits (PathUtils)."""
    return name not in ("", ".", "..") and not any(
        character == "/"
        or character <= "\x1f"
        or "\x7f" <= character <= "\x9f"
        or "\ud800" <= character <= "\uf8ff"
        or character >= "\ufff0"
        for character in name
    )


# -- entries


def encode_acls(entries: frozenset[AclEntry]) -> bytes:
    acls = [
        {
            "principal": entry.principal,
            "permissionType": entry.permission.pascal_name,
            "operation": entry.operation.pascal_name,
            "host": entry.host,
        }
        for entry in sorted(entries)
    ]
    return encode_json({"version": _VERSION, "acls": acls})


def decode_acls(path: str, data: bytes) -> frozenset[AclEntry]:
    """The entries of a node. Raises ZnodeDecodeError. Unlike Kafka, also if the data is not JSON: Kafka then finds no
    ACLs, which would lift a DENY."""
    if not data:
        return frozenset()
    node = JsonNode.parse(path, data)
    if node.integer("version") != _VERSION:
        raise ZnodeDecodeError(path, f"unsupported version {node.integer('version')}")
    return frozenset(_decode_entry(item) for item in node.children("acls"))


def _decode_entry(node: JsonNode) -> AclEntry:
    principal = node.text("principal")
    if ":" not in principal:
        raise ZnodeDecodeError(node.path, f"principal {principal[:200]!r} is not of the form Type:name")
    return AclEntry(
        principal,
        node.text("host"),
        AclOperation.of_name(node.text("operation")),
        AclPermission.of_name(node.text("permissionType")),
    )


# -- notifications


def change_prefix(pattern_type: PatternType) -> str:
    """The path of a new notification, before the number that the store appends."""
    return f"{_CHANGES[pattern_type]}/{_CHANGE_NAME}"


def change_number(changes_path: str, notification: str) -> int:
    """The number of a notification; numbers rise. Raises ZnodeDecodeError."""
    digits = notification.removeprefix(_CHANGE_NAME)
    if not (digits.isascii() and digits.isdecimal()):
        raise ZnodeDecodeError(f"{changes_path}/{notification}", "this is not the name of a notification")
    return int(digits)


def encode_acl_change(pattern: ResourcePattern) -> bytes:
    if pattern.pattern_type is PatternType.LITERAL:
        return f"{pattern.resource_type.name}:{pattern.name}".encode()
    fields = {
        "version": _VERSION,
        "resourceType": pattern.resource_type.name,
        "name": pattern.name,
        "patternType": pattern.pattern_type.name,
    }
    return encode_json(fields)


def decode_acl_change(path: str, data: bytes) -> ResourcePattern:
    """The pattern that a notification names. Raises ZnodeDecodeError."""
    if path.startswith(f"{_CHANGES[PatternType.LITERAL]}/"):
        kind, separator, name = decode_text(path, data).partition(":")
        if not separator:
            raise ZnodeDecodeError(path, f"{kind[:200]!r} is not of the form type:name")
        return ResourcePattern(_resource_type(path, kind), name, PatternType.LITERAL)
    node = JsonNode.parse(path, data)
    if node.integer("version") > _VERSION:
        raise ZnodeDecodeError(path, f"unsupported version {node.integer('version')}")
    if node.text("patternType").upper() != PatternType.PREFIXED.name:
        raise ZnodeDecodeError(path, f"unsupported pattern type {node.text('patternType')[:200]!r}")
    return ResourcePattern(_resource_type(path, node.text("resourceType")), node.text("name"), PatternType.PREFIXED)


def _resource_type(path: str, name: str) -> AclResourceType:
    """A type by the name of the enumeration or of the node, as ``TRANSACTIONAL_ID`` or ``TransactionalId``."""
    for kind in CONCRETE_RESOURCE_TYPES:
        if name.upper() in (kind.name, kind.pascal_name.upper()):
            return kind
    raise ZnodeDecodeError(path, f"unknown resource type {name[:200]!r}")
