"""Odd wishes of administrators: what is impossible, named twice, unknown or not waited for; beside admin_scenarios."""

from collections.abc import Mapping, Sequence

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_producer, a_topic, batch, create, new_topic, produce, sequence
from pybroker.protocol.messages import alter_partition_reassignments as apr
from pybroker.protocol.messages import alter_replica_log_dirs as ard
from pybroker.protocol.messages import alter_user_scram_credentials as aus
from pybroker.protocol.messages import create_acls, delete_acls
from pybroker.protocol.messages import create_partitions as cp
from pybroker.protocol.messages import delete_records as dr
from pybroker.protocol.messages import describe_client_quotas as dcq
from pybroker.protocol.messages import describe_log_dirs as dld
from pybroker.protocol.messages import describe_producers as dp
from pybroker.protocol.messages import describe_user_scram_credentials as dus
from pybroker.protocol.messages import elect_leaders as el
from pybroker.protocol.messages import list_partition_reassignments as lpr
from pybroker.protocol.messages import update_features as uf
from pybroker.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from pybroker.protocol.messages.describe_acls import DescribeAclsRequest
from pybroker.protocol.messages.describe_delegation_token import DescribeDelegationTokenRequest
from pybroker.protocol.messages.envelope import EnvelopeRequest
from pybroker.protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest
from pybroker.protocol.messages.list_transactions import ListTransactionsRequest
from pybroker.protocol.messages.renew_delegation_token import RenewDelegationTokenRequest
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest

__all__ = ["SCENARIOS"]

NOBODY = 7
"""No broker has this id."""


def in_any_order(answer: Json) -> Json:
    """The lists of these answers are Kafka's hash maps."""
    if isinstance(answer, dict):
        return {name: in_any_order(value) for name, value in answer.items()}
    return sorted(map(in_any_order, answer), key=repr) if isinstance(answer, list) else answer


# -- CreatePartitions


def more(name: str, count: int, *assignments: Sequence[int]) -> cp.CreatePartitionsTopic:
    wished = [cp.CreatePartitionsAssignment(broker_ids=list(broker_ids)) for broker_ids in assignments]
    return cp.CreatePartitionsTopic(name=name, count=count, assignments=wished or None)


def grow(
    talk: Conversation,
    *topics: cp.CreatePartitionsTopic,
    version: int = 3,
    timeout_ms: int = 30_000,
    validate_only: bool = False,
) -> None:
    request = cp.CreatePartitionsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)
    talk.ask(request, version, see=in_any_order)


def growths_beside_refused_ones(talk: Conversation) -> None:
    name = a_topic(talk)
    for version in range(4):
        grow(talk, more(name, 2 + version), version=version)
        grow(talk, more(name, 2 + version), more(talk.name("unknown"), 1), version=version)


def create_partitions_only_to_validate(talk: Conversation) -> None:
    name = a_topic(talk)
    grow(talk, more(name, 3), validate_only=True, timeout_ms=0)
    grow(talk, more(name, 3, [0], [0]), validate_only=True)
    grow(talk, more(name, 1), validate_only=True)
    grow(talk, more(name, 2))


def create_partitions_with_impossible_counts(talk: Conversation) -> None:
    name = a_topic(talk, partitions=2)
    for count in (2, 1, 0, -1):
        grow(talk, more(name, count))


def create_partitions_with_an_assignment(talk: Conversation) -> None:
    name = a_topic(talk)
    grow(talk, more(name, 2, [0]))
    for wish in (
        more(name, 3, [NOBODY]),
        more(name, 3, [-1]),
        more(name, 4, [0]),
        more(name, 3, [0], [0]),
        more(name, 3, [0, 0]),
        more(name, 3, []),
        cp.CreatePartitionsTopic(name=name, count=3, assignments=[]),
    ):
        grow(talk, wish)


def create_partitions_of_topics_that_are_not_there(talk: Conversation) -> None:
    grow(talk, *(more(name, 3) for name in (talk.name("unknown"), "a/b", "a b")))


def create_partitions_of_topics_named_twice(talk: Conversation) -> None:
    name = a_topic(talk)
    grow(talk, more(name, 2), more(name, 3), more(talk.name("unknown"), 2))
    grow(talk, more(name, 2))


def create_partitions_without_waiting(talk: Conversation) -> None:
    grow(talk, more(a_topic(talk), 2), timeout_ms=0)
    grow(talk)


# -- DeleteRecords


def delete(
    talk: Conversation, offsets: Mapping[tuple[str, int], int], *, version: int = 2, timeout_ms: int = 30_000
) -> None:
    topics: dict[str, list[dr.DeleteRecordsPartition]] = {}
    for (topic, index), offset in offsets.items():
        topics.setdefault(topic, []).append(dr.DeleteRecordsPartition(partition_index=index, offset=offset))
    asked = [dr.DeleteRecordsTopic(name=topic, partitions=partitions) for topic, partitions in topics.items()]
    talk.ask(dr.DeleteRecordsRequest(topics=asked, timeout_ms=timeout_ms), version, see=in_any_order)


def delete_records_here_and_there(talk: Conversation) -> None:
    name = a_topic(talk, partitions=2)
    talk.unrecorded(produce(name, batch(10)), 9)
    for version in range(3):
        delete(talk, {(name, 0): 2 * version, (name, 1): 0, (name, 9): 0}, version=version)
    delete(talk, {(name, 0): -1})
    delete(talk, {(name, 0): -1})
    delete(talk, {(name, 0): 3}, timeout_ms=0)
    delete(talk, {})


def delete_records_at_impossible_offsets(talk: Conversation) -> None:
    name = a_topic(talk, partitions=2)
    talk.unrecorded(produce(name, batch(3)), 9)
    for offset in (4, -2, 2**62):
        delete(talk, {(name, 0): offset, (name, 1): offset})
    delete(talk, {(name, 0): 3, (name, 1): -1})


def delete_records_that_are_not_to_be_deleted(talk: Conversation) -> None:
    compacted = a_topic(talk, "compacted", cleanup_policy="compact")
    both = a_topic(talk, "both", cleanup_policy="compact,delete")
    for name in (compacted, both):
        talk.unrecorded(produce(name, batch(3)), 9)
        delete(talk, {(name, 0): 1, (talk.name("unknown"), 0): 0})


# -- log directories


def without_paths(answer: Json) -> Json:
    """Where a broker keeps its data and how much room there is differs."""
    for result in answer["results"]:
        result["logDir"] = bool(result["logDir"])
        for name in ("totalBytes", "usableBytes"):
            if name in result:
                result[name] = result[name] > 0
    return in_any_order(answer)


def describe_log_dirs_in_every_version(talk: Conversation) -> None:
    name = a_topic(talk, partitions=3)
    talk.unrecorded(produce(name, batch(5)), 9)
    talk.unrecorded(produce(name, batch(2), partition=2), 9)
    topics = [
        dld.DescribableLogDirTopic(topic=name, partitions=[0, 2, 9]),
        dld.DescribableLogDirTopic(topic=talk.name("unknown"), partitions=[0]),
        dld.DescribableLogDirTopic(topic=name, partitions=[0]),
    ]
    for version in range(5):
        talk.ask(dld.DescribeLogDirsRequest(topics=topics), version, see=without_paths)
        talk.ask(dld.DescribeLogDirsRequest(topics=[]), version, see=without_paths)


def own_log_dirs(talk: Conversation, answer: Json) -> Json:
    for result in answer["results"]:
        result["topics"] = [topic for topic in result["topics"] if talk.is_own(topic["name"])]
    return without_paths(answer)


def describe_all_log_dirs(talk: Conversation) -> None:
    a_topic(talk, partitions=2)
    for version in range(5):
        talk.ask(dld.DescribeLogDirsRequest(topics=None), version, see=lambda answer: own_log_dirs(talk, answer))


def move_partitions_to_log_dirs(talk: Conversation) -> None:
    name = a_topic(talk)
    described = talk.unrecorded(dld.DescribeLogDirsRequest(topics=[]), 4)
    here = described.results[0].log_dir
    partitions = [(name, 0), (name, 9), (talk.name("unknown"), 0), ("x" * 240, 0), ("a/b", 0)]
    topics = [ard.AlterReplicaLogDirTopic(name=topic, partitions=[index]) for topic, index in partitions]
    for path in (here, f"{here}/", "/nowhere", "", "data"):
        for version in range(3):
            request = ard.AlterReplicaLogDirsRequest(dirs=[ard.AlterReplicaLogDir(path=path, topics=topics)])
            talk.ask(request, version, see=in_any_order, note=f"to {path.replace(here, 'here')}")


# -- ElectLeaders


def elect(
    talk: Conversation, partitions: Mapping[str, Sequence[int]] | None, *, version: int = 2, election_type: int = 0
) -> None:
    topics = None
    if partitions is not None:
        topics = [el.TopicPartitions(topic=topic, partitions=list(indexes)) for topic, indexes in partitions.items()]
    request = el.ElectLeadersRequest(
        election_type=election_type if version >= 1 else 0, topic_partitions=topics, timeout_ms=30_000
    )
    talk.ask(request, version, see=in_any_order)


def elect_leaders_in_every_version(talk: Conversation) -> None:
    name = a_topic(talk, partitions=2)
    for version in range(3):
        for election_type in (0, 1):
            elect(talk, {name: [0, 1, 9], talk.name("unknown"): [0]}, version=version, election_type=election_type)


def elect_no_leaders(talk: Conversation) -> None:
    for version in range(3):
        elect(talk, {}, version=version)


def elect_leaders_in_an_unknown_way(talk: Conversation) -> None:
    name = a_topic(talk)
    for version in (1, 2):
        elect(talk, {name: [0]}, version=version, election_type=5)
        elect(talk, None, version=version, election_type=5)


# -- reassignments


def reassign(talk: Conversation, *wishes: tuple[str, int, Sequence[int] | None]) -> None:
    topics: dict[str, list[apr.ReassignablePartition]] = {}
    for topic, index, replicas in wishes:
        wish = apr.ReassignablePartition(partition_index=index, replicas=None if replicas is None else list(replicas))
        topics.setdefault(topic, []).append(wish)
    asked = [apr.ReassignableTopic(name=topic, partitions=partitions) for topic, partitions in topics.items()]
    talk.ask(apr.AlterPartitionReassignmentsRequest(topics=asked), 0, see=in_any_order)


def reassign_with_every_kind_of_replicas(talk: Conversation) -> None:
    name, unknown = a_topic(talk, partitions=2), talk.name("unknown")
    for replicas in ([0], [NOBODY], [0, NOBODY], [0, 0], [], [-1], None):
        reassign(talk, (name, 0, replicas))
        reassign(talk, (name, 9, replicas), (unknown, 0, replicas), (name, 1, [0]))
    reassign(talk, (name, 0, [NOBODY]), (name, 0, [0]))
    reassign(talk)


def list_reassignments(talk: Conversation) -> None:
    name = a_topic(talk)
    talk.ask(lpr.ListPartitionReassignmentsRequest(topics=None), 0)
    asked = [
        lpr.ListPartitionReassignmentsTopics(name=topic, partition_indexes=[0, 9])
        for topic in (name, talk.name("unknown"))
    ]
    talk.ask(lpr.ListPartitionReassignmentsRequest(topics=asked), 0)
    talk.ask(lpr.ListPartitionReassignmentsRequest(topics=[]), 0)


# -- DescribeProducers


def without_the_time(answer: Json) -> Json:
    for topic in answer["topics"]:
        for partition in topic["partitions"]:
            for producer in partition["activeProducers"]:
                producer["lastTimestamp"] = producer["lastTimestamp"] > 0
            partition["activeProducers"].sort(key=lambda producer: producer["producerId"])
    return answer


def describe_producers_here_and_there(talk: Conversation) -> None:
    name = a_topic(talk, partitions=2)
    producer = a_producer(talk)
    for first in range(3):
        talk.unrecorded(produce(name, sequence(producer, first)), 9)
    talk.unrecorded(produce(name, batch(1)), 9)
    topics = [
        dp.TopicRequest(name=topic, partition_indexes=[0, 1, 9, 0]) for topic in (name, talk.name("unknown"), "a b", "")
    ]
    talk.ask(dp.DescribeProducersRequest(topics=topics), 0, see=without_the_time)


# -- UpdateFeatures


def update_features(talk: Conversation) -> None:
    for name in ("metadata.version", "x", ""):
        for level in (1, 0, -1):
            for kind in (0, 1, 2, 3, 9):
                update = uf.FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
                talk.ask(uf.UpdateFeaturesRequest(feature_updates=[update]), 1, note=f"{name} {level} {kind}")
            for flag in (True, False):
                update = uf.FeatureUpdateKey(feature=name, max_version_level=level, allow_downgrade=flag)
                talk.ask(uf.UpdateFeaturesRequest(feature_updates=[update]), 0, note=f"{name} {level} {flag}")
    twice = [uf.FeatureUpdateKey(feature="x", max_version_level=level) for level in (1, 0)]
    talk.ask(uf.UpdateFeaturesRequest(feature_updates=twice, validate_only=True), 1)
    talk.ask(uf.UpdateFeaturesRequest(), 1)


# -- what is switched off


def sasl_without_sasl(talk: Conversation) -> None:
    for version in range(2):
        talk.ask(SaslHandshakeRequest(mechanism="PLAIN"), version)
    for version in range(3):
        talk.ask(SaslAuthenticateRequest(auth_bytes=b"\0user\0password"), version)


def access_rules_without_an_authorizer(talk: Conversation) -> None:
    for version in range(4):
        talk.ask(DescribeAclsRequest(resource_type_filter=2, operation=1, permission_type=1), version)
        rule = create_acls.AclCreation(
            resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
        )
        talk.ask(create_acls.CreateAclsRequest(creations=[rule, rule]), version)
        rules = delete_acls.DeleteAclsFilter(resource_type_filter=2, operation=1, permission_type=1)
        talk.ask(delete_acls.DeleteAclsRequest(filters=[rules, rules]), version)


def tokens_on_a_plaintext_listener(talk: Conversation) -> None:
    for version in range(4):
        talk.ask(CreateDelegationTokenRequest(), version)
        talk.ask(DescribeDelegationTokenRequest(owners=None), version)
    talk.ask(CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name="ann"), 3)
    for version in range(3):
        talk.ask(RenewDelegationTokenRequest(hmac=b"h"), version)
        talk.ask(ExpireDelegationTokenRequest(hmac=b"h"), version)


def describe_quotas_of_nobody(talk: Conversation) -> None:
    for version in range(2):
        for components in (
            [],
            [("user", 0, "ann")],
            [("user", 1, None), ("client-id", 2, None)],
            [("ip", 2, None)],
            [("shoe-size", 2, None)],
            [("", 2, None)],
            [("user", 2, None), ("user", 2, None)],
            [("user", 2, None), ("ip", 2, None)],
            [("user", 9, None)],
            [("user", 0, None)],
        ):
            filters = [dcq.ComponentData(entity_type=kind, match_type=how, match=who) for kind, how, who in components]
            talk.ask(dcq.DescribeClientQuotasRequest(components=filters), version, note=str(components))


def describe_credentials_of_nobody(talk: Conversation) -> None:
    for users in (None, [], ["ann"], ["ann", "bob", "ann", ""]):
        names = None if users is None else [dus.UserName(name=user) for user in users]
        talk.ask(dus.DescribeUserScramCredentialsRequest(users=names), 0, see=in_any_order)


def delete_credentials_of_nobody(talk: Conversation) -> None:
    def old(user: str) -> aus.ScramCredentialDeletion:
        return aus.ScramCredentialDeletion(name=user, mechanism=1)

    for users in (["ann"], ["ann", "bob", "ann"], [""]):
        request = aus.AlterUserScramCredentialsRequest(deletions=[old(user) for user in users])
        talk.ask(request, 0, see=in_any_order)


def list_transactions_of_nobody(talk: Conversation) -> None:
    for version in range(2):
        talk.ask(ListTransactionsRequest(), version)
        states = ["Ongoing", "Lost", "Empty", "PrepareEpochFence", "Dead"]
        talk.ask(ListTransactionsRequest(state_filters=states), version)


def an_envelope(talk: Conversation) -> None:
    talk.ask(EnvelopeRequest(request_data=b"", request_principal=None, client_host_address=b"\x7f\0\0\1"), 0)


def topics_come_and_go_between_growths(talk: Conversation) -> None:
    name = a_topic(talk)
    grow(talk, more(name, 3))
    talk.ask(create(new_topic(name)), 4)
    grow(talk, more(name, 4))


SCENARIOS = [
    growths_beside_refused_ones,
    create_partitions_only_to_validate,
    create_partitions_with_impossible_counts,
    create_partitions_with_an_assignment,
    create_partitions_of_topics_that_are_not_there,
    create_partitions_of_topics_named_twice,
    create_partitions_without_waiting,
    topics_come_and_go_between_growths,
    delete_records_here_and_there,
    delete_records_at_impossible_offsets,
    delete_records_that_are_not_to_be_deleted,
    describe_log_dirs_in_every_version,
    describe_all_log_dirs,
    move_partitions_to_log_dirs,
    elect_leaders_in_every_version,
    elect_no_leaders,
    elect_leaders_in_an_unknown_way,
    reassign_with_every_kind_of_replicas,
    list_reassignments,
    describe_producers_here_and_there,
    update_features,
    sasl_without_sasl,
    access_rules_without_an_authorizer,
    tokens_on_a_plaintext_listener,
    describe_quotas_of_nobody,
    describe_credentials_of_nobody,
    delete_credentials_of_nobody,
    list_transactions_of_nobody,
    an_envelope,
]
