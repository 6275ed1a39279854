"""Scenarios of Metadata, CreateTopics and DeleteTopics."""

from uuid import UUID

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import a_topic, assigned, create, metadata, new_topic, topic_id
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

__all__ = ["SCENARIOS"]

NOBODYS_ID = UUID("11111111-2222-4333-8444-555555555555")
BAD_NAMES = ("", ".", "..", "a b", "a/b", "ü", "x" * 250, "a:b", "a,b", '"', "\0")


def own_topics(talk: Conversation, answer: Json) -> Json:
    return {**answer, "topics": [topic for topic in answer["topics"] if talk.is_own(topic["name"])]}


# -- Metadata


def metadata_of_a_topic_in_every_version(talk: Conversation) -> None:
    name = a_topic(talk, partitions=3)
    for version in range(13):
        talk.ask(metadata(name, create=True), version)


def metadata_of_all_topics_in_every_version(talk: Conversation) -> None:
    a_topic(talk, "one")
    a_topic(talk, "two", partitions=2)
    for version in range(13):
        topics: list[MetadataRequestTopic] | None = [] if version == 0 else None
        talk.ask(
            MetadataRequest(topics=topics, allow_auto_topic_creation=True),
            version,
            see=lambda answer: own_topics(talk, answer),
        )


def metadata_of_no_topic(talk: Conversation) -> None:
    for version in range(1, 13):
        talk.ask(metadata(create=True), version)


def metadata_of_unknown_topics_that_may_not_be_created(talk: Conversation) -> None:
    for version in range(4, 13):
        talk.ask(metadata(talk.name("unknown"), talk.name("other")), version)


def metadata_creates_missing_topics(talk: Conversation) -> None:
    """Only the names are compared, because the first response may lack a leader."""
    for version in (0, 1, 4, 9, 12):
        name = talk.name(f"created-{version}")
        talk.ask(
            metadata(name, create=True),
            version,
            see=lambda answer: [topic["name"] for topic in answer["topics"]],
        )
        talk.until(metadata(name, create=True), version, lambda answer: not answer.topics[0].error_code)


def metadata_of_invalid_names(talk: Conversation) -> None:
    for create_missing in (False, True):
        for name in BAD_NAMES:
            talk.ask(metadata(name, create=create_missing), 9, note=f"{name[:10]!r}, create: {create_missing}")
    talk.ask(metadata(*BAD_NAMES, create=True), 0)


def metadata_of_a_name_that_collides_with_another(talk: Conversation) -> None:
    name = a_topic(talk, "a.b")
    talk.ask(metadata(name.replace(".", "_"), create=True), 9)
    talk.ask(metadata(name.replace(".", "_")), 9)


def metadata_of_a_topic_named_twice(talk: Conversation) -> None:
    name = a_topic(talk)
    talk.ask(metadata(name, name, create=True), 1)
    talk.ask(metadata(name, name, talk.name("unknown"), talk.name("unknown")), 9)


def metadata_by_topic_id(talk: Conversation) -> None:
    name = a_topic(talk)
    known = topic_id(talk, name)
    talk.ask(metadata(ids=[known]), 12)
    talk.ask(metadata(ids=[NOBODYS_ID]), 12)
    talk.ask(metadata(ids=[known, NOBODYS_ID, known]), 12)
    talk.ask(metadata(ids=[known], include_topic_authorized_operations=True), 12)
    talk.ask(metadata(ids=[NOBODYS_ID], include_topic_authorized_operations=True), 12)


def metadata_by_topic_id_and_name_at_once(talk: Conversation) -> None:
    name = a_topic(talk)
    known = topic_id(talk, name)
    both = MetadataRequestTopic(name=name, topic_id=known)
    other = MetadataRequestTopic(name=talk.name("unknown"), topic_id=known)
    by_name = MetadataRequestTopic(name=name)
    by_id = MetadataRequestTopic(name=None, topic_id=known)
    neither = MetadataRequestTopic(name=None)
    for topics in ([both], [other], [by_name, by_id], [neither], [neither, by_name]):
        talk.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 12)


def metadata_by_topic_id_before_version_12(talk: Conversation) -> None:
    name = a_topic(talk)
    known = topic_id(talk, name)
    for version in (10, 11):
        for topic in (
            MetadataRequestTopic(name=name, topic_id=known),
            MetadataRequestTopic(name=None, topic_id=known),
            MetadataRequestTopic(name=None),
        ):
            talk.ask(MetadataRequest(topics=[topic], allow_auto_topic_creation=False), version)


def metadata_with_authorized_operations(talk: Conversation) -> None:
    name = a_topic(talk)
    for version in (8, 9, 10):
        talk.ask(
            metadata(
                name,
                talk.name("unknown"),
                include_topic_authorized_operations=True,
                include_cluster_authorized_operations=True,
            ),
            version,
        )
    talk.ask(metadata(name, include_topic_authorized_operations=True), 11)


def metadata_of_internal_topics(talk: Conversation) -> None:
    """Asks only for topics that do not exist; whether internal topics exist depends on other scenarios."""
    for name in ("__consumer_offsets", "__transaction_state", "__cluster_metadata"):
        talk.ask(
            metadata(name),
            9,
            see=lambda answer: [(topic["name"], topic["isInternal"]) for topic in answer["topics"]],
        )


# -- CreateTopics


def create_topics_in_every_version(talk: Conversation) -> None:
    for version in range(8):
        talk.ask(create(new_topic(talk.name(f"v{version}"), 2)), version)


def create_topics_that_exist(talk: Conversation) -> None:
    name = a_topic(talk)
    for version in (0, 1, 4, 5, 7):
        talk.ask(create(new_topic(name)), version)
    talk.ask(create(new_topic(name), validate_only=True), 7)


def create_topics_only_to_validate(talk: Conversation) -> None:
    name = talk.name()
    for version in (1, 4, 5, 7):
        talk.ask(create(new_topic(name, 2, configs={"retention.ms": "1000"}), validate_only=True), version)
    talk.ask(metadata(name), 9)


def create_topics_with_default_counts(talk: Conversation) -> None:
    """Default counts exist from version 4 (KIP-464)."""
    for version in range(8):
        talk.ask(create(new_topic(talk.name(f"both-{version}"), -1, -1)), version)
    talk.ask(create(new_topic(talk.name("partitions"), -1, 1)), 5)
    talk.ask(create(new_topic(talk.name("replicas"), 2, -1)), 5)


def create_topics_with_impossible_counts(talk: Conversation) -> None:
    for partitions, replicas in (
        (0, 1),
        (-2, 1),
        (-2147483648, 1),
        (1, 0),
        (1, -2),
        (1, 2),
        (1, 32767),
        (0, 0),
        (-2, -2),
    ):
        name = talk.name(f"{partitions}-{replicas}")
        for version in range(8):
            request = create(new_topic(name, partitions, replicas))
            talk.ask(request, version, note=f"{partitions} partitions, {replicas} replicas")
    talk.ask(create(new_topic(talk.name("many"), 1, 2), validate_only=True), 7)


def create_topics_with_invalid_names(talk: Conversation) -> None:
    for version in range(8):
        for name in BAD_NAMES:
            talk.ask(create(new_topic(name)), version, note=repr(name[:10]))
    talk.ask(create(*map(new_topic, BAD_NAMES[:4])), 7)
    talk.ask(create(new_topic("x" * 249)), 7)


def create_topics_with_colliding_names(talk: Conversation) -> None:
    name = a_topic(talk, "a.b_c")
    talk.ask(create(new_topic(name.replace("_c", ".c"))), 7)
    talk.ask(create(new_topic(talk.name("new.one")), new_topic(talk.name("new_one"))), 7, see=error_count)


def error_count(answer: Json) -> Json:
    """Returns the number of errors, because which of two requests succeeds is random."""
    return sorted(topic["errorCode"] for topic in answer["topics"])


def create_internal_topics(talk: Conversation) -> None:
    talk.ask(create(new_topic("__cluster_metadata")), 7)
    talk.ask(
        create(new_topic("__consumer_offsets"), validate_only=True), 7, see=lambda answer: answer["topics"][0]["name"]
    )


def create_topics_named_twice(talk: Conversation) -> None:
    name = talk.name()
    for version in range(8):
        talk.ask(create(new_topic(name), new_topic(name, 2)), version)
    talk.ask(create(new_topic(name), new_topic(name), new_topic(talk.name("other"))), 1)
    talk.ask(metadata(name, talk.name("other")), 9)


def create_no_topic(talk: Conversation) -> None:
    for version in range(8):
        talk.ask(create(), version)


def create_topics_with_settings(talk: Conversation) -> None:
    settings = {"retention.ms": "1000", "cleanup.policy": "compact,delete", "max.message.bytes": "2000"}
    talk.ask(create(new_topic(talk.name("v4"), configs=settings)), 4)
    talk.ask(create(new_topic(talk.name("v5"), configs=settings)), 5)
    talk.ask(
        create(new_topic(talk.name("spaces"), configs={"retention.ms": " 1000 ", "cleanup.policy": "compact, delete"})),
        7,
    )


def create_topics_with_bad_settings(talk: Conversation) -> None:
    bad: list[dict[str, str | None]] = [
        {"no.such.setting": "1"},
        {"": "1"},
        {"retention.ms": "soon"},
        {"retention.ms": ""},
        {"retention.ms": "-2"},
        {"retention.ms": None},
        {"segment.bytes": "1"},
        {"segment.bytes": "9999999999"},
        {"cleanup.policy": "burn"},
        {"cleanup.policy": ""},
        {"compression.type": "rar"},
        {"compression.gzip.level": "10"},
        {"min.insync.replicas": "0"},
        {"min.cleanable.dirty.ratio": "1.5"},
        {"message.timestamp.type": "Yesterday"},
        {"message.format.version": "0.9.0"},
        {"message.format.version": "7.7"},
        {"unclean.leader.election.enable": "maybe"},
        {"follower.replication.throttled.replicas": "1"},
        {"follower.replication.throttled.replicas": "0:0,1:1"},
        {"remote.storage.enable": "true"},
        {"remote.log.copy.disable": "true"},
        {"remote.log.delete.on.disable": "true"},
        {"local.retention.ms": "5000", "retention.ms": "1000"},
        {"max.compaction.lag.ms": "1", "min.compaction.lag.ms": "2"},
        {"retention.ms": "1", "no.such.setting": "1"},
        {"log.retention.ms": "1"},
        {"index.interval.bytes": "-1"},
        {"flush.messages": "0"},
        {"preallocate": "yes"},
    ]
    for number, settings in enumerate(bad):
        for version in range(8):
            request = create(new_topic(talk.name(str(number)), configs=settings), validate_only=version == 3)
            talk.ask(request, version, note=str(settings))


def create_topics_with_a_setting_given_twice(talk: Conversation) -> None:
    topic = new_topic(talk.name())
    topic.configs = [
        CreatableTopicConfig(name="retention.ms", value="1"),
        CreatableTopicConfig(name="retention.ms", value="2"),
    ]
    talk.ask(create(topic), 7)


def create_topics_with_an_assignment(talk: Conversation) -> None:
    good = {0: [0], 1: [0]}
    for version in (0, 3, 4, 5, 7):
        talk.ask(create(assigned(talk.name(f"v{version}"), good)), version)
    talk.ask(create(assigned(talk.name("reversed"), {1: [0], 0: [0]})), 7)
    talk.ask(metadata(talk.name("v7"), talk.name("reversed")), 9)


def create_topics_with_a_bad_assignment(talk: Conversation) -> None:
    bad: list[dict[int, list[int]]] = [
        {0: []},
        {0: [7]},
        {0: [0, 7]},
        {0: [0, 0]},
        {0: [-1]},
        {1: [0]},
        {0: [0], 2: [0]},
        {-1: [0]},
        {0: [0], 1: [0, 1]},
    ]
    never_done: tuple[dict[int, list[int]], ...] = ({0: []}, {0: [-1]})  # for Kafka, whose answer takes the whole time
    for number, assignment in enumerate(bad):
        timeout_ms = 500 if assignment in never_done else 30_000
        talk.ask(create(assigned(talk.name(str(number)), assignment), timeout_ms=timeout_ms), 7, note=str(assignment))
    talk.ask(create(assigned(talk.name("counts"), {0: [0]}, partitions=1, replicas=1)), 7)
    talk.ask(create(assigned(talk.name("partitions"), {0: [0]}, partitions=1)), 7)
    talk.ask(create(assigned(talk.name("replicas"), {0: [0]}, replicas=1)), 7)
    twice = CreatableTopic(
        name=talk.name("twice"),
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[0]) for _ in range(2)],
    )
    talk.ask(create(twice), 7)


def create_good_and_bad_topics_together(talk: Conversation) -> None:
    topics = [
        new_topic(talk.name("good")),
        new_topic("a b"),
        new_topic(talk.name("replicas"), 1, 5),
        new_topic(talk.name("setting"), configs={"no.such": "1"}),
    ]
    talk.ask(create(*topics), 7)
    talk.ask(metadata(talk.name("good"), talk.name("replicas")), 9)


def create_topics_without_waiting(talk: Conversation) -> None:
    """Without a timeout the immediate result is random; only the creation is compared."""
    for timeout_ms in (0, -1):
        name = talk.name(f"in-{timeout_ms}")
        talk.ask(create(new_topic(name), timeout_ms=timeout_ms), 7, see=lambda answer: answer["topics"][0]["name"])
        talk.until(metadata(name), 9, lambda answer: not answer.topics[0].error_code and answer.topics[0].partitions)


# -- DeleteTopics


def delete(*names: str, timeout_ms: int = 30_000) -> DeleteTopicsRequest:
    """Returns a request up to version 5."""
    return DeleteTopicsRequest(topic_names=list(names), timeout_ms=timeout_ms)


def delete_states(*topics: DeleteTopicState) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topics=list(topics), timeout_ms=30_000)


def delete_topics_in_every_version(talk: Conversation) -> None:
    for version in range(6):
        name = a_topic(talk, f"v{version}")
        talk.ask(delete(name), version)
        talk.until(metadata(name), 9, lambda answer: bool(answer.topics[0].error_code))
    name = a_topic(talk, "v6")
    talk.ask(delete_states(DeleteTopicState(name=name)), 6)
    talk.until(metadata(name), 9, lambda answer: bool(answer.topics[0].error_code))


def delete_topics_by_id(talk: Conversation) -> None:
    name = a_topic(talk)
    known = topic_id(talk, name)
    talk.ask(delete_states(DeleteTopicState(topic_id=known)), 6)
    talk.until(metadata(ids=[known]), 12, lambda answer: bool(answer.topics[0].error_code))
    # Kafka's controller knows the id a little longer than its metadata cache.
    again = delete_states(DeleteTopicState(topic_id=known))
    talk.until(again, 6, lambda answer: answer.responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID)


def delete_topics_that_do_not_exist(talk: Conversation) -> None:
    for version in range(6):
        talk.ask(delete(talk.name("unknown")), version)
    talk.ask(delete_states(DeleteTopicState(name=talk.name("unknown"))), 6)
    talk.ask(delete_states(DeleteTopicState(topic_id=NOBODYS_ID)), 6)
    for version in range(6):
        talk.ask(delete("", "a b", ".."), version)
    talk.ask(delete_states(*(DeleteTopicState(name=name) for name in ("", "a b", ".."))), 6)


def delete_topics_named_wrongly(talk: Conversation) -> None:
    name = a_topic(talk)
    known = topic_id(talk, name)
    talk.ask(delete_states(DeleteTopicState(name=name, topic_id=known)), 6)
    talk.ask(delete_states(DeleteTopicState()), 6)
    talk.ask(delete_states(DeleteTopicState(name=name), DeleteTopicState(topic_id=known)), 6)
    talk.ask(delete_states(DeleteTopicState(name=name), DeleteTopicState(name=name)), 6)
    talk.ask(delete_states(DeleteTopicState(topic_id=NOBODYS_ID), DeleteTopicState(topic_id=NOBODYS_ID)), 6)
    talk.ask(metadata(name), 9)


def delete_topics_named_twice_by_old_clients(talk: Conversation) -> None:
    for version in range(6):
        name = a_topic(talk, f"v{version}")
        talk.ask(delete(name, name), version)


def delete_no_topic(talk: Conversation) -> None:
    for version in range(6):
        talk.ask(delete(), version)
    talk.ask(delete_states(), 6)


def a_deleted_topic_can_be_made_again(talk: Conversation) -> None:
    name = a_topic(talk)
    first = topic_id(talk, name)
    talk.ask(delete(name), 5)
    # In Kafka the name is free only after the controller has finished the deletion.
    talk.until(create(new_topic(name, 2)), 7, lambda answer: not answer.topics[0].error_code)
    talk.ask(metadata(name), 12)
    talk.ask(metadata(ids=[first]), 12)


SCENARIOS = [
    metadata_of_a_topic_in_every_version,
    metadata_of_all_topics_in_every_version,
    metadata_of_no_topic,
    metadata_of_unknown_topics_that_may_not_be_created,
    metadata_creates_missing_topics,
    metadata_of_invalid_names,
    metadata_of_a_name_that_collides_with_another,
    metadata_of_a_topic_named_twice,
    metadata_by_topic_id,
    metadata_by_topic_id_and_name_at_once,
    metadata_by_topic_id_before_version_12,
    metadata_with_authorized_operations,
    metadata_of_internal_topics,
    create_topics_in_every_version,
    create_topics_that_exist,
    create_topics_only_to_validate,
    create_topics_with_default_counts,
    create_topics_with_impossible_counts,
    create_topics_with_invalid_names,
    create_topics_with_colliding_names,
    create_internal_topics,
    create_topics_named_twice,
    create_no_topic,
    create_topics_with_settings,
    create_topics_with_bad_settings,
    create_topics_with_a_setting_given_twice,
    create_topics_with_an_assignment,
    create_topics_with_a_bad_assignment,
    create_good_and_bad_topics_together,
    create_topics_without_waiting,
    delete_topics_in_every_version,
    delete_topics_by_id,
    delete_topics_that_do_not_exist,
    delete_topics_named_wrongly,
    delete_topics_named_twice_by_old_clients,
    delete_no_topic,
    a_deleted_topic_can_be_made_again,
]
