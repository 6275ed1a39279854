"""Records the responses to requests that name several resources, for a user whose ACLs name some of them."""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from uuid import UUID

from interop.side_by_side.conversation import Conversation, Step
from interop.side_by_side.mixed_requests import MIXED_REQUESTS
from interop.side_by_side.plain_form import Json, See
from interop.side_by_side.verdicts import (
    ADMIN_HOST,
    ALLOW,
    CLIENT_HOST,
    DENY,
    LITERAL,
    PREFIXED,
    SEEN,
    USER,
    Acl,
    prepare,
    set_acls,
)
from pybroker.base.acls import CLUSTER_NAME, AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.protocol.apis import ApiKey
from support.load.request_of_each_api import plain_request

__all__ = ["record_mixed_rights"]

TOPIC, GROUP, CLUSTER = AclResourceType.TOPIC, AclResourceType.GROUP, AclResourceType.CLUSTER
TRANSACTION = AclResourceType.TRANSACTIONAL_ID
Op = AclOperation
CLIENT = f"User:{USER[0]}"


def may(
    kind: AclResourceType,
    name: str,
    *operations: AclOperation,
    pattern: PatternType = LITERAL,
    permission: AclPermission = ALLOW,
) -> set[Acl]:
    return {(kind, name, pattern, CLIENT, CLIENT_HOST, each, permission) for each in operations}


SHAPES = {
    "describe records, missing": may(TOPIC, "records", Op.DESCRIBE)
    | may(TOPIC, "missing", Op.DESCRIBE)
    | may(GROUP, "g", Op.DESCRIBE)
    | may(TRANSACTION, "t", Op.DESCRIBE),
    "read records, missing": may(TOPIC, "records", Op.READ)
    | may(TOPIC, "missing", Op.READ)
    | may(GROUP, "g", Op.READ)
    | may(TRANSACTION, "t", Op.WRITE),
    "write records, missing": may(TOPIC, "records", Op.WRITE)
    | may(TOPIC, "missing", Op.WRITE)
    | may(GROUP, "g", Op.READ)
    | may(TRANSACTION, "t", Op.WRITE),
    "delete missing, create": may(TOPIC, "missing", Op.DELETE, Op.CREATE)
    | may(TOPIC, "other", Op.DESCRIBE)
    | may(GROUP, "g", Op.DELETE),
    "all by prefix but one": may(TOPIC, "m", Op.ALL, pattern=PREFIXED)
    | may(TOPIC, "rec", Op.ALL, pattern=PREFIXED)
    | may(TOPIC, "records", Op.READ, permission=DENY)
    | may(GROUP, "*", Op.ALL)
    | may(TRANSACTION, "*", Op.ALL)
    | may(GROUP, "h", Op.DESCRIBE, permission=DENY)
    | may(TRANSACTION, "u", Op.WRITE, permission=DENY),
    "alter configs": may(TOPIC, "records", Op.ALTER_CONFIGS, Op.ALTER)
    | may(TOPIC, "missing", Op.ALTER_CONFIGS, Op.ALTER),
    "cluster": may(CLUSTER, CLUSTER_NAME, Op.ALTER_CONFIGS, Op.CREATE, Op.IDEMPOTENT_WRITE),
    "cluster action": may(CLUSTER, CLUSTER_NAME, Op.CLUSTER_ACTION),
    "describe and alter the cluster": may(CLUSTER, CLUSTER_NAME, Op.ALTER),
}


def _codes_of_producer(value: Json) -> Json:
    return {"errorCode": value["errorCode"], "some": value["producerId"] >= 0}


SEEN_MIXED: dict[ApiKey, See] = {
    **{key: SEEN[key] for key in (ApiKey.DESCRIBE_CONFIGS, ApiKey.DESCRIBE_LOG_DIRS, ApiKey.CREATE_TOPICS)},
    ApiKey.INIT_PRODUCER_ID: _codes_of_producer,
    ApiKey.API_VERSIONS: lambda _: None,
}


def _in_any_order(names: Mapping[str, str], see: See | None) -> See:
    """Without texts, with the names of topics in place of their ids, and without the order of lists."""

    def plain(value: Json) -> Json:
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items() if not name.endswith("rrorMessage")}
        if isinstance(value, list):
            return sorted(map(plain, value), key=repr)
        return names.get(value, value) if isinstance(value, str) else value

    return plain if see is None else lambda value: plain(see(value))


def record_mixed_rights(port: int, login_port: int) -> list[Step]:
    admin = Conversation(("127.0.0.1", port), "admin", source_host=ADMIN_HOST)
    client = Conversation(("127.0.0.1", login_port), "client", source_host=CLIENT_HOST, user=USER)
    try:
        prepare(admin, is_open=False)
        created = {"topics": [{"name": "other", "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 60_000}
        admin.unrecorded(plain_request(ApiKey.CREATE_TOPICS, **created), 5)
        asked = plain_request(ApiKey.METADATA, topics=[{"name": "records"}, {"name": "other"}])
        ids: dict[str, UUID] = {each.name: each.topic_id for each in admin.unrecorded(asked, 12).topics}
        names = {urlsafe_b64encode(each.bytes).decode().rstrip("="): f"<{name}>" for name, each in ids.items()}
        for shape, acls in SHAPES.items():
            set_acls(admin, frozenset(acls), is_open=False)
            for requests in MIXED_REQUESTS:
                for key, version, note, fields in requests(ids):
                    see = _in_any_order(names, SEEN_MIXED.get(key))
                    client.ask(plain_request(key, **fields), version, note=f"{shape}: {note}", see=see)
    finally:
        admin.close()
        client.close()
    return client.steps
