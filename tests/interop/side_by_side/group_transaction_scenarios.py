"""Scenarios of transactions that commit offsets of members of the consumer protocol (KIP-447, KIP-848)."""

from typing import Any

from interop.side_by_side.consumer_group_scenarios import beat, joining, offsets_as, topic_of_groups
from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import a_group, init_producer
from pybroker.protocol.messages import txn_offset_commit as tc
from pybroker.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest

__all__ = ["SCENARIOS"]

TRANSACTION = 1
"""A type of key of FindCoordinator."""
NOT_COMMITTED = -1


class Transactions:
    """The transactions of one producer, which commit the offset of partition 0."""

    def __init__(self, talk: Conversation, group: str, topic: str) -> None:
        self._talk = talk
        self._group = group
        self._topic = topic
        self._id = talk.name("producer")
        while talk.unrecorded(FindCoordinatorRequest(key=self._id, key_type=TRANSACTION), 3).error_code:
            pass
        while (started := talk.unrecorded(init_producer(self._id), 4)).error_code:
            pass
        self._producer_id, self._epoch = started.producer_id, started.producer_epoch

    def begin(self) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            group_id=self._group,
        )
        while self._talk.unrecorded(request, 3).error_code:
            pass  # the transaction before is not over yet

    def commit_offset(self, offset: int, member: str, epoch: int, version: int, note: str) -> None:
        partition = tc.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        fields: dict[str, Any] = {"generation_id": epoch, "member_id": member} if version >= 3 else {}
        request = tc.TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=self._group,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            topics=[tc.TxnOffsetCommitRequestTopic(name=self._topic, partitions=[partition])],
            **fields,
        )
        self._talk.ask(request, version, note=note)

    def end(self, *, is_committed: bool) -> None:
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=self._producer_id,
            producer_epoch=self._epoch,
            committed=is_committed,
        )
        while self._talk.unrecorded(request, 3).error_code:
            pass


def commit_offsets_in_transactions(talk: Conversation) -> None:
    topic, group = topic_of_groups(talk), a_group(talk)
    epoch = talk.unrecorded(joining(group, "m", topic), 1).member_epoch
    transactions = Transactions(talk, group, topic)
    for offset, is_committed in ((5, True), (9, False)):
        transactions.begin()
        for version in (2, 3, 4):
            transactions.commit_offset(offset, "m", epoch, version, "the member")
        for member, of_member, note in (
            ("m", epoch - 1, "an older epoch"),
            ("m", epoch + 1, "an epoch to come"),
            ("m", -1, "no epoch"),
            ("x", epoch, "an unknown member"),
            ("", epoch, "no member"),
            ("", -1, "neither member nor epoch"),
        ):
            transactions.commit_offset(offset + 1, member, of_member, 3, note)
        talk.ask(offsets_as(group, "m", epoch, topic), 9, note="before the end")
        transactions.end(is_committed=is_committed)
        if is_committed:
            talk.until(offsets_as(group, None, -1, topic), 9, lambda answer: _offset_in(answer) != NOT_COMMITTED)
    talk.ask(offsets_as(group, "m", epoch, topic), 9)
    transactions.begin()
    talk.ask(beat(group, "m", epoch, names=[topic, topic_of_groups(talk, "other")]), 1, note="another epoch")
    transactions.commit_offset(20, "m", epoch, 3, "the member in its epoch before")
    transactions.commit_offset(21, "m", epoch + 1, 3, "the member in its new epoch")
    talk.ask(beat(group, "m", -1), 1)
    transactions.commit_offset(22, "m", epoch + 1, 3, "the member has left")
    transactions.commit_offset(23, "", -1, 3, "nobody, in an empty group")
    transactions.end(is_committed=True)
    talk.until(offsets_as(group, None, -1, topic), 9, lambda answer: _offset_in(answer) > 20)


def _offset_in(answer: Any) -> int:
    (topic,) = answer.groups[0].topics
    offset: int = topic.partitions[0].committed_offset
    return offset


SCENARIOS = [commit_offsets_in_transactions]
