"""Scenarios of locks on records of share groups (KIP-932): deliveries, time-outs, lost records and transactions."""

from typing import Any

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import batch, init_producer, list_offsets, produce
from interop.side_by_side.shares.requests import (
    ACCEPT,
    NO_WAIT_MS,
    REJECT,
    RELEASE,
    RENEW,
    add_records,
    filled_topic,
    offsets_of,
    reading_group,
    sharing,
)
from pybroker.protocol.messages import delete_records as dr
from pybroker.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.sentinels import LATEST

__all__ = ["SCENARIOS"]

TRANSACTION = 1
"""A type of key of FindCoordinator."""


def deliveries_are_counted(talk: Conversation) -> None:
    topic, group = filled_topic(talk, "topic", 1, 1), reading_group(talk)
    member = sharing(talk, group, "m", topic)
    member.fetch(0)
    while True:
        held = [
            (each.first_offset, each.last_offset)
            for answer in [member.fetch(max_wait_ms=NO_WAIT_MS)]
            for of_topic in answer.responses
            for data in of_topic.partitions
            for each in data.acquired_records
        ]
        if not held and member.epoch > 5:
            break
        member.acknowledge(*((first, last, [RELEASE]) for first, last in held or [(0, 1)]))
    talk.ask(offsets_of(group, None), 1)


def locks_end_and_are_renewed(talk: Conversation) -> None:
    topic, group = filled_topic(talk, "topic", 4), reading_group(talk, share_record_lock_duration_ms="1000")
    member, other = sharing(talk, group, "m", topic), sharing(talk, group, "n", topic)
    member.fetch(0)
    member.fetch(said={0: [(0, 3, [RENEW])]}, is_renew_ack=True, note="and fetches")
    nothing: dict[str, Any] = {"max_records": 0, "max_bytes": 0, "min_bytes": 0, "max_wait_ms": 0}
    member.fetch(said={0: [(0, 3, [RENEW])]}, is_renew_ack=True, note="renews", **nothing)
    member.acknowledge((0, 1, [RENEW]), (2, 3, [ACCEPT, RELEASE]), is_renew_ack=True)
    other.fetch(0, note="released")
    member.fetch(note="the lock has ended")
    member.acknowledge((0, 1, [ACCEPT]))
    talk.ask(offsets_of(group, None), 1)


def members_share_a_partition(talk: Conversation) -> None:
    topic, group = filled_topic(talk, "topic", 3, 3), reading_group(talk)
    member, other = sharing(talk, group, "m", topic), sharing(talk, group, "n", topic)
    member.fetch(0, max_records=1)
    other.fetch(0, note="the next batch")
    other.acknowledge((3, 5, [ACCEPT]))
    talk.ask(offsets_of(group, None), 1)
    member.disconnect()
    other.fetch(note="of the member that has gone")
    talk.ask(
        dr.DeleteRecordsRequest(
            topics=[
                dr.DeleteRecordsTopic(name=topic, partitions=[dr.DeleteRecordsPartition(partition_index=0, offset=2)])
            ],
            timeout_ms=30_000,
        ),
        2,
    )
    other.acknowledge((0, 2, [REJECT]), note="below the start of the log")
    talk.ask(offsets_of(group, None), 1)


def one_transaction(talk: Conversation, topic: str, id_: str, end: int, *, is_committed: bool) -> None:
    """Writes three records and the marker, which ends before the offset `end`."""
    while talk.unrecorded(FindCoordinatorRequest(key=id_, key_type=TRANSACTION), 3).error_code:
        pass
    while (started := talk.unrecorded(init_producer(id_), 4)).error_code:
        pass
    producer_id, epoch = started.producer_id, started.producer_epoch
    added = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=id_,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
    )
    while talk.unrecorded(added, 3).results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code:
        pass
    data = batch(3, producer_id=producer_id, producer_epoch=epoch, base_sequence=0, is_transactional=True)
    answer = talk.unrecorded(produce(topic, data, transactional_id=id_), 9)
    assert not answer.responses[0].partition_responses[0].error_code, answer
    ended = EndTxnRequest(transactional_id=id_, producer_id=producer_id, producer_epoch=epoch, committed=is_committed)
    while talk.unrecorded(ended, 3).error_code:
        pass
    while talk.unrecorded(list_offsets(topic, LATEST, isolation=1), 6).topics[0].partitions[0].offset < end:
        pass


def transactions_of_producers(talk: Conversation) -> None:
    topic = filled_topic(talk, "topic", 2)
    one_transaction(talk, topic, talk.name("committed"), 6, is_committed=True)
    one_transaction(talk, topic, talk.name("aborted"), 10, is_committed=False)
    add_records(talk, topic, 1)
    for level in ("read_uncommitted", "read_committed"):
        group = reading_group(talk, level, share_isolation_level=level)
        member = sharing(talk, group, level, topic)
        member.fetch(0, note=level)
        member.fetch(max_wait_ms=NO_WAIT_MS, note=level)
        talk.ask(offsets_of(group, None), 1)


SCENARIOS = (
    deliveries_are_counted,
    locks_end_and_are_renewed,
    members_share_a_partition,
    transactions_of_producers,
)
