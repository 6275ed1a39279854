"""What administrators ask for beside topics, groups and settings, and what is switched off."""

from collections.abc import Mapping, Sequence
from typing import Any

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import (
    a_group,
    a_producer,
    a_topic,
    batch,
    fetch,
    fetch_partition,
    list_offsets,
    metadata,
    produce,
    sequence,
)
from pybroker.protocol.messages import alter_partition_reassignments as ar
from pybroker.protocol.messages import alter_replica_log_dirs as al
from pybroker.protocol.messages import create_partitions as cp
from pybroker.protocol.messages import delete_records as dr
from pybroker.protocol.messages import describe_producers as dp
from pybroker.protocol.messages import elect_leaders as el
from pybroker.protocol.messages import list_partition_reassignments as lr
from pybroker.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from pybroker.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pybroker.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pybroker.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from pybroker.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pybroker.protocol.messages.describe_acls import DescribeAclsRequest
from pybroker.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from pybroker.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from pybroker.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from pybroker.protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from pybroker.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pybroker.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest
from pybroker.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

__all__ = ["SCENARIOS"]

# -- CreatePartitions


def grow(
    *topics: tuple[str, int, Sequence[Sequence[int]] | None], validate_only: bool = False, timeout_ms: int = 30_000
) -> cp.CreatePartitionsRequest:
    """Topics as (name, new count, brokers of the new partitions)."""
    return cp.CreatePartitionsRequest(
        topics=[
            cp.CreatePartitionsTopic(
                name=name,
                count=count,
                assignments=None
                if brokers is None
                else [cp.CreatePartitionsAssignment(broker_ids=list(each)) for each in brokers],
            )
            for name, count, brokers in topics
        ],
        timeout_ms=timeout_ms,
        validate_only=validate_only,
    )


def create_partitions_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in range(4):
        talk.ask(grow((topic, 2 + version, None)), version)
    talk.ask(grow((topic, 9, None), validate_only=True), 3)
    talk.ask(grow((topic, 7, [[0], [0]])), 3)
    talk.ask(metadata(topic), 9)


def create_partitions_wrongly(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    for count in (2, 1, 0, -1):
        for validate_only in (False, True):
            talk.ask(grow((topic, count, None), validate_only=validate_only), 3, note=f"{count} {validate_only}")
    assignments: list[list[list[int]]] = [[], [[0], [0]], [[7]], [[]], [[0, 0]], [[0, 7]], [[-1]]]
    for brokers in assignments:
        talk.ask(grow((topic, 3, brokers)), 3, note=str(brokers))
    for name in (talk.name("unknown"), "", "a b"):
        talk.ask(grow((name, 3, None)), 3, note=repr(name)[:12])
    talk.ask(grow(), 3)
    talk.ask(grow(("__consumer_offsets", 1, None)), 3, see=lambda answer: answer["results"][0]["name"])
    talk.ask(grow((topic, 3, None), (topic, 4, None)), 3, note="twice")
    talk.ask(grow((topic, 3, None), (talk.name("unknown"), 4, None)), 3, note="good and bad")
    talk.ask(metadata(topic), 9)


# -- DeleteRecords


def delete_records(topic: str, offset: int, partition: int = 0, timeout_ms: int = 10_000) -> dr.DeleteRecordsRequest:
    asked = dr.DeleteRecordsPartition(partition_index=partition, offset=offset)
    return dr.DeleteRecordsRequest(
        topics=[dr.DeleteRecordsTopic(name=topic, partitions=[asked])], timeout_ms=timeout_ms
    )


def delete_records_in_every_version(talk: Conversation) -> None:
    topic = a_topic(talk)
    for _ in range(5):
        talk.unrecorded(produce(topic, batch(2)), 9)
    for version in range(3):
        talk.ask(delete_records(topic, 1 + 2 * version), version)
        talk.ask(list_offsets(topic, -2), 7)
        talk.ask(fetch(topic, fetch_partition(0, 1 + 2 * version)), 12)
    talk.ask(delete_records(topic, 2), 2, note="less than is deleted")
    talk.ask(fetch(topic, fetch_partition(0, 1)), 12)
    talk.ask(produce(topic, batch()), 9)
    talk.ask(delete_records(topic, -1), 2, note="all")
    talk.ask(list_offsets(topic, -2), 7)
    talk.ask(fetch(topic, fetch_partition(0, 11)), 12)


def delete_records_wrongly(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.unrecorded(produce(topic, batch(2)), 9)
    for offset in (3, -2, (1 << 63) - 1):
        talk.ask(delete_records(topic, offset), 1, note=f"offset {offset}")
    talk.ask(delete_records(talk.name("unknown"), 1), 1, note="unknown topic")
    talk.ask(delete_records(topic, 1, partition=4), 1, note="unknown partition")
    talk.ask(delete_records("__consumer_offsets", 1), 1, see=lambda answer: answer["topics"][0]["name"])
    talk.ask(dr.DeleteRecordsRequest(), 1)
    compacted = a_topic(talk, "compacted", cleanup_policy="compact")
    talk.unrecorded(produce(compacted, batch(2)), 9)
    talk.ask(delete_records(compacted, 1), 1, note="compacted")
    both = a_topic(talk, "both", cleanup_policy="compact,delete")
    talk.unrecorded(produce(both, batch(2)), 9)
    talk.ask(delete_records(both, 1), 1, note="compacted and deleted")


# -- ElectLeaders, reassignments


def elect(
    topics: Mapping[str, Sequence[int]] | None, election_type: int = 0, timeout_ms: int = 5_000
) -> el.ElectLeadersRequest:
    asked = None
    if topics is not None:
        asked = [el.TopicPartitions(topic=name, partitions=list(each)) for name, each in topics.items()]
    return el.ElectLeadersRequest(election_type=election_type, topic_partitions=asked, timeout_ms=timeout_ms)


def elect_leaders(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    for version in range(3):
        talk.ask(elect({topic: [0, 1]}), version)
        talk.ask(elect({topic: [0, 7], talk.name("unknown"): [0]}), version, note="unknown ones")
        talk.ask(elect({}), version, note="none")
        talk.ask(elect(None), version, note="all", see=lambda answer: answer.get("errorCode"))
    for election_type in (1, 2, -1):
        talk.ask(elect({topic: [0]}, election_type), 2, note=f"type {election_type}")
    talk.ask(elect({topic: []}), 2, note="no partition")


def reassign(*partitions: tuple[str, int, Sequence[int] | None]) -> ar.AlterPartitionReassignmentsRequest:
    return ar.AlterPartitionReassignmentsRequest(
        topics=[
            ar.ReassignableTopic(
                name=name,
                partitions=[
                    ar.ReassignablePartition(
                        partition_index=index, replicas=None if replicas is None else list(replicas)
                    )
                ],
            )
            for name, index, replicas in partitions
        ]
    )


def reassign_partitions(talk: Conversation) -> None:
    topic = a_topic(talk)
    talk.ask(reassign((topic, 0, [0])), 0, note="as it is")
    talk.ask(reassign((topic, 0, None)), 0, note="cancel what is not under way")
    for replicas in ([], [7], [0, 7], [0, 0], [-1]):
        talk.ask(reassign((topic, 0, replicas)), 0, note=str(replicas))
    talk.ask(reassign((topic, 5, [0])), 0, note="unknown partition")
    talk.ask(reassign((talk.name("unknown"), 0, [0])), 0, note="unknown topic")
    talk.ask(reassign((talk.name("unknown"), 0, None)), 0, note="cancel for an unknown topic")
    talk.ask(reassign(), 0, note="nothing")
    talk.ask(lr.ListPartitionReassignmentsRequest(), 0, note="all")
    talk.ask(
        lr.ListPartitionReassignmentsRequest(
            topics=[
                lr.ListPartitionReassignmentsTopics(name=topic, partition_indexes=[0, 9]),
                lr.ListPartitionReassignmentsTopics(name=talk.name("unknown"), partition_indexes=[0]),
            ]
        ),
        0,
    )
    talk.ask(metadata(topic), 9)


# -- log directories


def own_directories(talk: Conversation, answer: Json) -> Json:
    """Sizes of disks are the machine's, and of logs nearly so."""
    for result in answer["results"]:
        result["logDir"] = "the directory" if result["logDir"].startswith("/") else result["logDir"]
        for size in ("totalBytes", "usableBytes"):
            if size in result:
                result[size] = "some" if result[size] > 0 else result[size]
        result["topics"] = [topic for topic in result["topics"] if talk.is_own(topic["name"])]
    return answer


def describe_log_dirs(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    talk.unrecorded(produce(topic, batch(3)), 9)

    def ask(version: int, topics: list[DescribableLogDirTopic] | None, note: str) -> None:
        request = DescribeLogDirsRequest(topics=topics)
        talk.ask(request, version, note=note, see=lambda answer: own_directories(talk, answer))

    for version in range(5):
        ask(version, None, "all")
        ask(version, [], "none")
        ask(version, [DescribableLogDirTopic(topic=topic, partitions=[0, 7])], "one and an unknown one")
        ask(version, [DescribableLogDirTopic(topic=talk.name("unknown"), partitions=[0])], "an unknown topic")
        ask(version, [DescribableLogDirTopic(topic=topic)], "no partition")


def alter_replica_log_dirs(talk: Conversation) -> None:
    topic = a_topic(talk)
    for version in range(3):
        for path in ("/no/such/directory", "", "relative"):
            for name, index in ((topic, 0), (topic, 5), (talk.name("unknown"), 0)):
                moved = al.AlterReplicaLogDirTopic(name=name, partitions=[index])
                request = al.AlterReplicaLogDirsRequest(dirs=[al.AlterReplicaLogDir(path=path, topics=[moved])])
                talk.ask(request, version, note=f"{path!r} {index} {name == topic}")
    talk.ask(al.AlterReplicaLogDirsRequest(), 2)


# -- producers


def describe_producers(talk: Conversation) -> None:
    topic = a_topic(talk, partitions=2)
    producer = a_producer(talk)
    talk.unrecorded(produce(topic, sequence(producer, 0, 3)), 9)
    talk.unrecorded(produce(topic, sequence(producer, 3, 1)), 9)
    asked = [
        dp.TopicRequest(name=topic, partition_indexes=[0, 1, 7]),
        dp.TopicRequest(name=talk.name("unknown"), partition_indexes=[0]),
        dp.TopicRequest(name="a b", partition_indexes=[0]),
    ]
    for each in asked:
        talk.ask(dp.DescribeProducersRequest(topics=[each]), 0, note=each.name[-8:])
    talk.ask(dp.DescribeProducersRequest(), 0, note="nothing")


# -- what is switched off or not there


def acls_without_an_authorizer(talk: Conversation) -> None:
    for version in range(4):
        patterns: dict[str, Any] = {"pattern_type_filter": 1} if version >= 1 else {}
        anything: dict[str, Any] = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
        talk.ask(
            DescribeAclsRequest(resource_type_filter=1, operation=1, permission_type=1, **patterns, **anything), version
        )
        acl = AclCreation(
            resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
        )
        talk.ask(CreateAclsRequest(creations=[acl, acl]), version)
        talk.ask(CreateAclsRequest(), version)
        matching = DeleteAclsFilter(resource_type_filter=1, operation=1, permission_type=1, **patterns, **anything)
        talk.ask(DeleteAclsRequest(filters=[matching]), version)


def delegation_tokens_without_sasl(talk: Conversation) -> None:
    for version in range(3):
        talk.ask(CreateDelegationTokenRequest(max_lifetime_ms=1000), version)
        talk.ask(RenewDelegationTokenRequest(hmac=b"x", renew_period_ms=1), version)
        talk.ask(ExpireDelegationTokenRequest(hmac=b"x", expiry_time_period_ms=1), version)
        talk.ask(DescribeDelegationTokenRequest(owners=None), version)
    talk.ask(CreateDelegationTokenRequest(max_lifetime_ms=1000), 3)
    talk.ask(DescribeDelegationTokenRequest(owners=[]), 3)


def sasl_on_a_plain_listener(talk: Conversation) -> None:
    for version in range(2):
        for mechanism in ("PLAIN", "", "NONSENSE"):
            talk.ask(SaslHandshakeRequest(mechanism=mechanism), version, note=mechanism)
    for version in range(3):
        talk.ask(SaslAuthenticateRequest(auth_bytes=b"\0user\0password"), version)


def quotas_that_nobody_set(talk: Conversation) -> None:
    for version in range(2):
        talk.ask(DescribeClientQuotasRequest(), version, note="all")
        for match_type, match in ((0, "x"), (1, None), (2, None)):
            component = ComponentData(entity_type="user", match_type=match_type, match=match)
            talk.ask(DescribeClientQuotasRequest(components=[component]), version, note=f"{match_type} {match}")
    for entity_type, match_type, match in (
        ("nonsense", 0, "x"),
        ("", 0, "x"),
        ("user", 9, "x"),
        ("user", 0, None),
        ("user", 1, "x"),
    ):
        component = ComponentData(entity_type=entity_type, match_type=match_type, match=match)
        request = DescribeClientQuotasRequest(components=[component])
        talk.ask(request, 1, note=f"{entity_type!r}, {match_type} {match}")
    twice = [ComponentData(entity_type="user", match_type=2, match=None) for _ in range(2)]
    talk.ask(DescribeClientQuotasRequest(components=twice), 1, note="twice")


def quotas_that_cannot_be_set(talk: Conversation) -> None:
    for entity, key, value in (
        ([("nonsense", "x")], "producer_byte_rate", 1.0),
        ([], "producer_byte_rate", 1.0),
        ([("user", "x")], "nonsense", 1.0),
        ([("user", "")], "producer_byte_rate", 1.0),
    ):
        entry = RequestEntryData(
            entity=[RequestEntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            ops=[OpData(key=key, value=value)],
        )
        talk.ask(AlterClientQuotasRequest(entries=[entry], validate_only=True), 1, note=f"{entity} {key}")
    talk.ask(AlterClientQuotasRequest(), 1)


def scram_users_that_nobody_made(talk: Conversation) -> None:
    talk.ask(DescribeUserScramCredentialsRequest(users=None), 0, note="all")
    talk.ask(DescribeUserScramCredentialsRequest(users=[]), 0, note="none")
    for names in (["nobody"], [""], ["nobody", "nobody"], ["nobody", "else"]):
        request = DescribeUserScramCredentialsRequest(users=[UserName(name=name) for name in names])
        talk.ask(request, 0, note=str(names))


def features(talk: Conversation) -> None:
    for version in range(2):
        talk.ask(UpdateFeaturesRequest(), version, note="none")
        for name in ("metadata.version", "nonsense", ""):
            update = FeatureUpdateKey(feature=name, max_version_level=7)
            talk.ask(UpdateFeaturesRequest(feature_updates=[update]), version, note=repr(name))


def groups_of_the_new_protocol(talk: Conversation) -> None:
    group = a_group(talk)
    request = ConsumerGroupHeartbeatRequest(
        group_id=group, member_id="m", rebalance_timeout_ms=1000, subscribed_topic_names=["t"], topic_partitions=[]
    )
    talk.ask(request, 0)
    talk.ask(ConsumerGroupDescribeRequest(group_ids=[group, "", group]), 0)
    talk.ask(ConsumerGroupDescribeRequest(), 0)


SCENARIOS = [
    create_partitions_in_every_version,
    create_partitions_wrongly,
    delete_records_in_every_version,
    delete_records_wrongly,
    elect_leaders,
    reassign_partitions,
    describe_log_dirs,
    alter_replica_log_dirs,
    describe_producers,
    acls_without_an_authorizer,
    delegation_tokens_without_sasl,
    sasl_on_a_plain_listener,
    quotas_that_nobody_set,
    quotas_that_cannot_be_set,
    scram_users_that_nobody_made,
    features,
    groups_of_the_new_protocol,
]
