"""The matrix of verdicts: each API with each shape of ACLs, for a client whose host the ACLs name.

The administrator connects from another address. The ACLs always let it do everything with the resources that have
ACLs, so that it can go on, and so can the broker itself.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from interop.side_by_side.conversation import Conversation, Step
from interop.side_by_side.plain_form import Json, See
from pybroker.base.acls import CLUSTER_NAME, AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.broker.requests.group_features import SHARE_GROUP_APIS
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message
from support.in_process.rights_table import RIGHTS, Ask, Row
from support.load.request_of_each_api import plain_request

__all__ = ["ADMINISTRATOR", "ADMIN_HOST", "ALLOW", "CLIENT_HOST", "DENY", "LITERAL", "OF_OPEN_BROKERS", "OF_USERS",
           "PREFIXED", "SEEN", "USER", "Acl", "prepare", "record_verdicts", "set_acls"]  # fmt: skip

ADMIN_HOST, CLIENT_HOST, OTHER_HOST = "127.0.0.1", "127.0.0.2", "127.0.0.9"
PRINCIPAL, USER = "User:ANONYMOUS", ("alice", "secret")
ALLOW, DENY = AclPermission.ALLOW, AclPermission.DENY
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED
Acl = tuple[AclResourceType, str, PatternType, str, str, AclOperation, AclPermission]
"""Type, name and pattern type of the resource; principal, host, operation and permission."""
ADMINISTRATOR = (PRINCIPAL, ADMIN_HOST, AclOperation.ALL, ALLOW)
EVERY_ACL: dict[str, object] = {
    "resource_type_filter": 1, "resource_name_filter": None, "pattern_type_filter": 1,
    "principal_filter": None, "host_filter": None, "operation": 1, "permission_type": 1,
}  # fmt: skip
OTHER_FIELDS: dict[tuple[ApiKey, int], dict[str, Any]] = {
    (ApiKey.CONTROLLED_SHUTDOWN, 2): {"broker_id": 9},  # not the broker itself
    (ApiKey.ADD_PARTITIONS_TO_TXN, 4): {  # Kafka answers no request without transactions
        "transactions": [
            {
                "transactional_id": "t", "producer_id": 1, "producer_epoch": 0, "verify_only": True,
                "topics": [{"name": "records", "partitions": [0]}],
            }
        ]
    },
}  # fmt: skip
OF_USERS = ("nothing", "all", "all for another user", "all for everyone")
"""Names of the shapes that depend on who the client is."""
OF_OPEN_BROKERS = ("nothing", "all from another host", "every operation, all denied by wildcard")
"""Names of the shapes that depend on what holds where no ACL applies."""
ONLY_HERE = {
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
    ApiKey.LIST_CLIENT_METRICS_RESOURCES,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    *SHARE_GROUP_APIS,
}
"""Kafka serves them in KRaft mode only."""


CHANGE_ACLS = {ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS}


@dataclass(frozen=True)
class Question:
    """A request, and the note of its step."""

    key: ApiKey
    request: Message
    version: int
    note: str


@dataclass(frozen=True)
class Shape:
    """ACLs for a request."""

    name: str
    acls: frozenset[Acl]


def shapes(rights: Iterable[Ask], client_principal: str) -> Iterator[Shape]:
    """The ACLs that are tried with a request that asks for these rights."""
    asked = list(dict.fromkeys((each.resource_type, each.name or "records", each.operation) for each in rights))

    def acls(
        permission: AclPermission = ALLOW,
        pattern: PatternType = LITERAL,
        *,
        only: int | None = None,
        everything: bool = False,
        principal: str = client_principal,
        host: str = CLIENT_HOST,
        operation: AclOperation | None = None,
    ) -> set[Acl]:
        found: set[Acl] = set()
        for number, (kind, name, right) in enumerate(asked):
            if only not in (None, number):
                continue
            if kind is AclResourceType.CLUSTER:
                found.add((kind, name, LITERAL, principal, host, operation or right, permission))
            else:
                resource = "*" if everything else name[:-1] or name if pattern is PREFIXED else name
                found.add((kind, resource, pattern, principal, host, operation or right, permission))
        return found

    every = acls()
    yield Shape("nothing", frozenset())
    if not asked:
        return
    yield Shape("all", frozenset(every))
    yield Shape("all by prefix", frozenset(acls(pattern=PREFIXED)))
    yield Shape("all by wildcard", frozenset(acls(everything=True)))
    yield Shape("all from another host", frozenset(acls(host=OTHER_HOST)))
    yield Shape("all for another user", frozenset(acls(principal="User:other", host="*")))
    yield Shape("all for everyone", frozenset(acls(principal="User:*", host="*")))
    yield Shape("every operation", frozenset(acls(operation=AclOperation.ALL)))
    yield Shape("every operation, all denied by wildcard", frozenset(
        acls(operation=AclOperation.ALL) | acls(DENY, everything=True, principal="User:*")
    ))  # fmt: skip
    for number, (kind, name, operation) in enumerate(asked):
        what = f"{operation.pascal_name} {kind.pascal_name} {name}"
        if len(asked) > 1:
            yield Shape(f"only {what}", frozenset(acls(only=number)))
        yield Shape(f"all but {what}", frozenset(every | acls(DENY, only=number)))
        yield Shape(f"all but {what} by prefix", frozenset(every | acls(DENY, PREFIXED, only=number)))


def record_verdicts(
    port: int, login_port: int | None = None, *, is_open: bool, only: Collection[str] = ()
) -> list[Step]:
    """The responses to each request with each shape of ACLs. ``login_port``: where the client logs in as `USER`.
    ``is_open``: everyone is allowed where no ACL applies; else the administrator must have its ACL on the cluster.
    ``only``: the names of the shapes to try, instead of all.
    """
    admin = Conversation(("127.0.0.1", port), "admin", source_host=ADMIN_HOST)
    principal = PRINCIPAL
    client = Conversation(("127.0.0.1", port), "client", source_host=CLIENT_HOST)
    if login_port is not None:
        principal = f"User:{USER[0]}"
        client = Conversation(("127.0.0.1", login_port), "client", source_host=CLIENT_HOST, user=USER)
    try:
        prepare(admin, is_open=is_open)
        present: frozenset[Acl] | None = None
        for acls, questions in _questions(principal, only).items():
            are_set = False
            for question in questions:
                if not are_set:
                    present = set_acls(admin, acls, is_open=is_open, present=present)
                client.ask(question.request, question.version, note=question.note, see=SEEN.get(question.key))
                are_set = question.key not in CHANGE_ACLS
                if not are_set:
                    present = None
    finally:
        admin.close()
        client.close()
    return client.steps


def _questions(client_principal: str, only: Collection[str]) -> dict[frozenset[Acl], list[Question]]:
    """The requests of all rows by the ACLs to try them with: a change of ACLs costs more than many requests."""
    found: dict[frozenset[Acl], list[Question]] = {}
    for key, rows in RIGHTS.items():
        for row in () if isinstance(rows, str) or key in ONLY_HERE else rows:
            request = plain_request(key, **{**row.fields, **OTHER_FIELDS.get((key, row.version), {})})
            for shape in shapes((*row.asks, *(row.denied_asks or ())), client_principal):
                if not only or shape.name in only:
                    question = Question(key, request, row.version, f"{row.what}: {shape.name}")
                    found.setdefault(shape.acls, []).append(question)
    return found


def prepare(admin: Conversation, *, is_open: bool) -> None:
    if not is_open:
        kinds = (AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.TRANSACTIONAL_ID)
        set_acls(admin, frozenset((kind, "*", LITERAL, *ADMINISTRATOR) for kind in kinds), is_open=False)
    while not admin.unrecorded(plain_request(ApiKey.METADATA, topics=[]), 1).brokers:
        pass  # Kafka reports its start before it knows its own registration
    created = {"topics": [{"name": "records", "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 60_000}
    admin.unrecorded(plain_request(ApiKey.CREATE_TOPICS, **created), 5)
    for key_type, name in ((0, "g"), (1, "t")):
        found = plain_request(ApiKey.FIND_COORDINATOR, key=name, key_type=key_type)
        while admin.unrecorded(found, 2).error_code:
            pass
    commit = next(row for row in RIGHTS[ApiKey.OFFSET_COMMIT] if isinstance(row, Row) and row.version == 7)
    for name in ("g", "known"):
        fields = {**commit.fields, "group_id": name}
        request = plain_request(ApiKey.OFFSET_COMMIT, **fields)
        while admin.unrecorded(request, 7).topics[0].partitions[0].error_code:
            pass
    for name in ("t", "known"):
        fields = {"transactional_id": name, "transaction_timeout_ms": 60_000}
        while admin.unrecorded(plain_request(ApiKey.INIT_PRODUCER_ID, **fields), 4).error_code:
            pass


def set_acls(
    admin: Conversation, acls: frozenset[Acl], *, is_open: bool, present: frozenset[Acl] | None = None
) -> frozenset[Acl]:
    """Make these the only ACLs, beside the administrator's; return all. ``present``: those there now, if they are
    known: then only the different ones are changed.
    """
    places = {acl[:3] for acl in acls} | (set() if is_open else {(AclResourceType.CLUSTER, CLUSTER_NAME, LITERAL)})
    wanted = acls | {(kind, name, pattern, *ADMINISTRATOR) for kind, name, pattern in places}
    filters = (
        _all_but_the_administrators(is_open) if present is None else [_only(each) for each in sorted(present - wanted)]
    )
    if filters:
        deleted = admin.unrecorded(plain_request(ApiKey.DELETE_ACLS, filters=filters), 3)
        assert not any(each.error_code for each in deleted.filter_results), deleted
    creations = [
        {
            "resource_type": kind, "resource_name": name, "resource_pattern_type": pattern, "principal": principal,
            "host": host, "operation": operation, "permission_type": permission,
        }
        for kind, name, pattern, principal, host, operation, permission in sorted(wanted - (present or frozenset()))
    ]  # fmt: skip
    if creations:
        created = admin.unrecorded(plain_request(ApiKey.CREATE_ACLS, creations=creations), 3)
        assert not any(each.error_code for each in created.results), created
    return wanted


def _all_but_the_administrators(is_open: bool) -> list[dict[str, object]]:
    """Filters of all ACLs, except the administrator's right to the cluster where it needs that."""
    of_types = [{**EVERY_ACL, "resource_type_filter": kind} for kind in (2, 3, 5)]
    of_cluster = [
        {**EVERY_ACL, "resource_type_filter": 4, "host_filter": host} for host in ("*", CLIENT_HOST, OTHER_HOST)
    ]
    return [EVERY_ACL] if is_open else [*of_types, *of_cluster]


def _only(acl: Acl) -> dict[str, object]:
    """The filter of one ACL."""
    kind, name, pattern, principal, host, operation, permission = acl
    return {
        "resource_type_filter": kind, "resource_name_filter": name, "pattern_type_filter": pattern,
        "principal_filter": principal, "host_filter": host, "operation": operation, "permission_type": permission,
    }  # fmt: skip


def _codes(value: Json) -> Json:
    """The error codes alone, where the contents of an allowed response are the subject of other comparisons."""
    match value:
        case dict():
            return {
                name: _codes(item)
                for name, item in value.items()
                if isinstance(item, dict | list) or name in ("errorCode", "resourceName", "name", "topic")
            }
        case list():
            return [_codes(item) for item in value]
        case _:
            return value


def _sorted(value: Json) -> Json:
    match value:
        case dict():
            return {name: _sorted(item) for name, item in value.items()}
        case list():
            return sorted((_sorted(item) for item in value), key=repr)
        case _:
            return value


def _first_codes(value: Json) -> Json:
    """The error codes of the resources, without their settings."""
    return [{name: each[name] for name in ("errorCode", "resourceName")} for each in value["results"]]


def _no_directories(value: Json) -> Json:
    return {"errorCode": value["errorCode"], "some": bool(value["results"])}


SEEN: dict[ApiKey, See] = {
    ApiKey.DESCRIBE_CONFIGS: _first_codes,
    ApiKey.DESCRIBE_LOG_DIRS: _no_directories,
    ApiKey.DESCRIBE_ACLS: _sorted,
    ApiKey.DELETE_ACLS: _sorted,
    ApiKey.CREATE_TOPICS: _codes,
}
