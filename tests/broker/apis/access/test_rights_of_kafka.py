"""The rights that requests of each API ask for are those that Kafka 3.9.1 asks for."""

from pathlib import Path

from pybroker.base.acls import AclOperation, AclResourceType
from pybroker.broker.requests.group_features import SHARE_GROUP_APIS
from pybroker.protocol.apis import ApiKey
from support.in_process.rights_table import RIGHTS

REFERENCE = Path(__file__).parents[3] / "reference" / "rights.txt"
Right = tuple[AclOperation, AclResourceType]
ANSWER_OPERATIONS = {ApiKey.METADATA, ApiKey.DESCRIBE_TOPIC_PARTITIONS, ApiKey.DESCRIBE_GROUPS, ApiKey.DESCRIBE_CLUSTER}
"""They ask for every operation that exists, to answer which ones the client may do."""
NOT_REACHED = {
    ApiKey.CREATE_DELEGATION_TOKEN,  # refused before on a listener without authentication
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.FIND_COORDINATOR,  # CLUSTER_ACTION is for coordinators of share groups, which KRaft mode has
    ApiKey.DESCRIBE_TRANSACTIONS,  # DESCRIBE of the topics of the transaction, in test_denials.py
}


OF_KAFKA_4 = {ApiKey.LIST_CLIENT_METRICS_RESOURCES, *SHARE_GROUP_APIS}


def rights_of_kafka() -> dict[ApiKey, set[Right]]:
    rights: dict[ApiKey, set[Right]] = {}
    for line in REFERENCE.read_text().splitlines():
        if not line.startswith("#"):
            name, _, listed = line.partition(": ")
            pairs = (right.split() for right in listed.split(", "))
            rights[ApiKey[name]] = {(AclOperation[operation], AclResourceType[kind]) for operation, kind in pairs}
    return rights


def asked_rights() -> dict[ApiKey, set[Right]]:
    return {
        key: set()
        if isinstance(rows, str)
        else {
            (ask.operation, ask.resource_type)
            for row in rows
            for ask in (*row.asks, *(row.denied_asks or ()))
        }
        for key, rows in RIGHTS.items()
    }  # fmt: skip


def test_each_api_asks_for_the_rights_that_kafka_asks_for() -> None:
    theirs, ours = rights_of_kafka(), asked_rights()
    assert theirs.keys() - ours.keys() == {ApiKey.ENVELOPE}  # in ZooKeeper mode no broker sends it to a pybroker
    missing = {key for key, rights in ours.items() if theirs.get(key, set()) - rights}
    surplus = {key for key, rights in ours.items() if rights - theirs.get(key, set())}
    assert (missing, surplus) == (NOT_REACHED, ANSWER_OPERATIONS | OF_KAFKA_4)
