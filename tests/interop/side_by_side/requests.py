"""Builders of requests for scenarios: short, with the defaults of an ordinary client."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from interop.side_by_side.conversation import Conversation
from pybroker.protocol.codec import encode
from pybroker.protocol.codec.wire import NULL_UUID
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import create_topics as ct
from pybroker.protocol.messages import fetch as f
from pybroker.protocol.messages import join_group as jg
from pybroker.protocol.messages import leave_group as lg
from pybroker.protocol.messages import list_offsets as lo
from pybroker.protocol.messages import metadata as m
from pybroker.protocol.messages import offset_commit as oc
from pybroker.protocol.messages import offset_fetch as of
from pybroker.protocol.messages import offset_for_leader_epoch as le
from pybroker.protocol.messages import produce as p
from pybroker.protocol.messages import sync_group as sg
from pybroker.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch, read_records

LONG_AGO = 1_600_000_000_000
"""A timestamp far from the clock; records count up from it."""
SESSION_MS = 30_000


# -- records


def records(count: int, first: int = 0, value: str = "value", timestamp: int = LONG_AGO) -> list[Record]:
    return [
        Record(first + n, timestamp + first + n, f"key-{first + n}".encode(), f"{value}-{first + n}".encode())
        for n in range(count)
    ]


def batch(count: int = 1, **fields: Any) -> bytes:
    return build_batch(records(count), **fields)


def message_set(magic: int, count: int = 1, codec: Codec = Codec.NONE) -> bytes:
    return build_message_set(records(count), magic, codec)


def patched(data: bytes, position: int, replacement: bytes, *, fix_crc: bool = False) -> bytes:
    """Returns the batch with other bytes in one place; its checksum is then wrong, or corrected."""
    copy = bytearray(data)
    copy[position : position + len(replacement)] = replacement
    if fix_crc:
        copy[17:21] = RecordBatch(copy, 0).compute_crc().to_bytes(4, "big")
    return bytes(copy)


# -- data


def produce(
    topic: str,
    data: bytes | None,
    *,
    partition: int = 0,
    acks: int = -1,
    timeout_ms: int = 10_000,
    transactional_id: str | None = None,
) -> p.ProduceRequest:
    return produce_many(
        {topic: [(partition, data)]}, acks=acks, timeout_ms=timeout_ms, transactional_id=transactional_id
    )


def produce_many(
    topics: Mapping[str, Sequence[tuple[int, bytes | None]]],
    *,
    acks: int = -1,
    timeout_ms: int = 10_000,
    transactional_id: str | None = None,
) -> p.ProduceRequest:
    return p.ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            p.TopicProduceData(
                name=name,
                partition_data=[p.PartitionProduceData(index=index, records=data) for index, data in partitions],
            )
            for name, partitions in topics.items()
        ],
    )


def fetch_partition(index: int = 0, offset: int = 0, max_bytes: int = 1 << 20, **fields: Any) -> f.FetchPartition:
    return f.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=max_bytes, **fields)


def fetch(topic: str, *partitions: f.FetchPartition, topic_id: UUID = NULL_UUID, **fields: Any) -> f.FetchRequest:
    """Returns a fetch by name up to version 12, by id from 13. It does not wait, and uses no session by default."""
    topics = [f.FetchTopic(topic=topic, topic_id=topic_id, partitions=list(partitions) or [fetch_partition()])]
    return fetch_many(topics, **fields)


def fetch_many(topics: list[f.FetchTopic], **fields: Any) -> f.FetchRequest:
    return f.FetchRequest(**{"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "topics": topics, **fields})


def consume(talk: Conversation, topic: str, version: int, *, max_bytes: int = 1 << 20, **fields: Any) -> None:
    """Records all records of a partition by consecutive fetches, because the broker may choose how many a converted
    response holds.
    """
    found: list[tuple[int, int, bytes | None, bytes | None]] = []
    magics = set()
    position = 0
    while True:
        answer = talk.unrecorded(fetch(topic, fetch_partition(0, position, max_bytes), **fields), version)
        (partition,) = answer.responses[0].partitions
        assert not partition.error_code, partition
        fetched = [
            record
            for each in iter_batches(partition.records or b"")
            for record in read_records(each)
            if record.offset >= position
        ]
        magics |= {each.magic for each in iter_batches(partition.records or b"")}
        if not fetched:
            break
        found += [(record.offset, record.timestamp_ms, record.key, record.value) for record in fetched]
        position = found[-1][0] + 1
    talk.note(f"all records by Fetch v{version}", {"records": [list(map(str, each)) for each in found]})
    talk.note("their formats", sorted(magics))


def list_offsets(
    topic: str, *timestamps: int, partition: int = 0, replica_id: int = -1, isolation: int = 0, **fields: Any
) -> lo.ListOffsetsRequest:
    """Returns a request that names one partition once for each timestamp."""
    asked = [lo.ListOffsetsPartition(partition_index=partition, timestamp=each, **fields) for each in timestamps]
    return lo.ListOffsetsRequest(
        replica_id=replica_id, isolation_level=isolation, topics=[lo.ListOffsetsTopic(name=topic, partitions=asked)]
    )


def epoch_end(
    topic: str, leader_epoch: int, *, partition: int = 0, current: int = -1, replica_id: int = -2
) -> le.OffsetForLeaderEpochRequest:
    asked = le.OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=leader_epoch)
    return le.OffsetForLeaderEpochRequest(
        replica_id=replica_id, topics=[le.OffsetForLeaderTopic(topic=topic, partitions=[asked])]
    )


def init_producer(transactional_id: str | None = None, **fields: Any) -> InitProducerIdRequest:
    return InitProducerIdRequest(**{"transactional_id": transactional_id, "transaction_timeout_ms": 60_000, **fields})


def a_producer(talk: Conversation) -> int:
    """Returns a new producer id; retries while Kafka itself is getting ids."""
    while (answer := talk.unrecorded(init_producer(), 4)).error_code:
        pass
    producer_id = answer.producer_id
    assert isinstance(producer_id, int)
    return producer_id


def sequence(producer_id: int, first: int, count: int = 1, epoch: int = 0, codec: Codec = Codec.NONE) -> bytes:
    """Returns a batch of an idempotent producer."""
    return batch(count, producer_id=producer_id, producer_epoch=epoch, base_sequence=first, codec=codec)


# -- topics


def metadata(*names: str | None, ids: Sequence[UUID] = (), create: bool = False, **fields: Any) -> m.MetadataRequest:
    topics = [m.MetadataRequestTopic(name=name) for name in names]
    topics += [m.MetadataRequestTopic(name=None, topic_id=topic_id) for topic_id in ids]
    return m.MetadataRequest(topics=topics, allow_auto_topic_creation=create, **fields)


def new_topic(
    name: str, partitions: int = 1, replicas: int = 1, configs: Mapping[str, str | None] | None = None, **fields: Any
) -> ct.CreatableTopic:
    return ct.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[ct.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        **fields,
    )


def assigned(
    name: str, assignment: Mapping[int, Sequence[int]], partitions: int = -1, replicas: int = -1
) -> ct.CreatableTopic:
    return ct.CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[
            ct.CreatableReplicaAssignment(partition_index=index, broker_ids=list(brokers))
            for index, brokers in assignment.items()
        ],
    )


def create(*topics: ct.CreatableTopic, timeout_ms: int = 30_000, validate_only: bool = False) -> ct.CreateTopicsRequest:
    return ct.CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)


def a_topic(talk: Conversation, what: str = "topic", partitions: int = 1, **configs: str) -> str:
    """Creates a new topic without recording; `configs` has _ for dots."""
    name = talk.name(what)
    settings = {key.replace("_", "."): value for key, value in configs.items()}
    answer = talk.unrecorded(create(new_topic(name, partitions, configs=settings)), 7)
    assert not answer.topics[0].error_code, answer
    return name


def topic_id(talk: Conversation, name: str) -> UUID:
    found = talk.unrecorded(metadata(name), 12).topics[0].topic_id
    assert isinstance(found, UUID)
    return found


# -- groups


def join(
    group: str,
    member: str = "",
    *,
    instance: str | None = None,
    protocol_type: str = "consumer",
    protocols: Mapping[str, bytes] | None = None,
    session_ms: int = SESSION_MS,
    rebalance_ms: int = 60_000,
    reason: str | None = None,
) -> jg.JoinGroupRequest:
    offered = {"range": subscription("some-topic")} if protocols is None else protocols
    return jg.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=member,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=[jg.JoinGroupRequestProtocol(name=name, metadata=data) for name, data in offered.items()],
        reason=reason,
    )


def sync(
    group: str,
    generation: int,
    member: str,
    assignments: Mapping[str, bytes] | None = None,
    *,
    instance: str | None = None,
    protocol_type: str | None = None,
    protocol_name: str | None = None,
) -> sg.SyncGroupRequest:
    return sg.SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
        assignments=[
            sg.SyncGroupRequestAssignment(member_id=each, assignment=data) for each, data in (assignments or {}).items()
        ],
    )


def commit(
    group: str,
    topic: str,
    offset: int = 1,
    *,
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    partition: int = 0,
    text: str | None = "",
    leader_epoch: int = -1,
    **fields: Any,
) -> oc.OffsetCommitRequest:
    committed = oc.OffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset,
        committed_leader_epoch=leader_epoch,
        committed_metadata=text,
    )
    return oc.OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        group_instance_id=instance,
        topics=[oc.OffsetCommitRequestTopic(name=topic, partitions=[committed])],
        **fields,
    )


def offsets(group: str, topics: Mapping[str, Sequence[int]] | None, **fields: Any) -> of.OffsetFetchRequest:
    """Returns a request up to version 7; None means all partitions (from version 2)."""
    asked = (
        None
        if topics is None
        else [of.OffsetFetchRequestTopic(name=name, partition_indexes=list(each)) for name, each in topics.items()]
    )
    return of.OffsetFetchRequest(group_id=group, topics=asked, **fields)


def group_offsets(
    group: str, topics: Mapping[str, Sequence[int]] | None, *, member: str | None = None, epoch: int = -1
) -> of.OffsetFetchRequestGroup:
    """Returns one group of a request from version 8."""
    asked = (
        None
        if topics is None
        else [of.OffsetFetchRequestTopics(name=name, partition_indexes=list(each)) for name, each in topics.items()]
    )
    return of.OffsetFetchRequestGroup(group_id=group, member_id=member, member_epoch=epoch, topics=asked)


def heartbeat(group: str, generation: int, member: str, *, instance: str | None = None) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member, group_instance_id=instance)


def leave(group: str, member: str) -> lg.LeaveGroupRequest:
    """Returns a request up to version 2."""
    return lg.LeaveGroupRequest(group_id=group, member_id=member)


def leave_all(group: str, *members: tuple[str, str | None]) -> lg.LeaveGroupRequest:
    """Returns a request from version 3, with (member id, instance id) of each member."""
    identities = [lg.MemberIdentity(member_id=member, group_instance_id=instance) for member, instance in members]
    return lg.LeaveGroupRequest(group_id=group, members=identities)


def subscription(*topics: str) -> bytes:
    """Returns a consumer's subscription. (With invalid bytes Kafka's rebalance never ends.)"""
    return b"\0\0" + encode(ConsumerProtocolSubscription(topics=list(topics)), 0)


def a_group(talk: Conversation, what: str = "group") -> str:
    """Returns the name of a group with a coordinator; the first call creates the offsets topic."""
    group = talk.name(what)
    while talk.unrecorded(FindCoordinatorRequest(key=group), 3).error_code:
        pass
    while talk.unrecorded(of.OffsetFetchRequest(group_id=group, topics=None), 7).error_code:
        pass
    return group


def member_of(talk: Conversation, group: str, version: int = 5, **fields: Any) -> Any:
    """Joins a group in the two steps of KIP-394; returns the last response."""
    answer = talk.unrecorded(join(group, **fields), version)
    if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        answer = talk.unrecorded(join(group, answer.member_id, **fields), version)
    assert not answer.error_code, answer
    return answer


def stable_member(talk: Conversation, group: str, **fields: Any) -> Any:
    """Makes a stable group of one member; returns its join response."""
    answer = member_of(talk, group, **fields)
    synced = talk.unrecorded(sync(group, answer.generation_id, answer.member_id, {answer.member_id: b"assigned"}), 3)
    assert not synced.error_code, synced
    return answer
