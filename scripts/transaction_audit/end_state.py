"""Reads what brokers have when all clients have ended: transactions that hang, committed records and offsets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.messages.list_transactions import ListTransactionsRequest
from support.clients.librdkafka_reader import messages_to_end
from support.load.cluster_view import ClusterView
from support.transactions.transaction_history import Place

__all__ = ["Leaders", "committed_values", "group_offsets", "hanging_transactions"]

_OPEN_STATES = ["Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence"]
_LATEST = -1
_CALL_S = 10

Leaders = Mapping[Place, int]


def hanging_transactions(view: ClusterView, brokers: Sequence[int], leaders: Leaders) -> Iterator[str]:
    """Transactions that coordinators or leaders know as open, and partitions whose last stable offset is behind."""
    for broker in brokers:
        answer = view.ask(broker, ListTransactionsRequest(state_filters=_OPEN_STATES), 0)
        if answer is None or answer.error_code:
            yield f"broker {broker}: no list of transactions"
            continue
        for each in answer.transaction_states:
            yield f"broker {broker}: transaction of {each.transactional_id} is in state {each.transaction_state}"
    for place, leader in leaders.items():
        yield from _open_producers(view, place, leader)
        offsets = _Ends(*(_end(view, place, leader, level) for level in (0, 1)))
        if offsets.high_watermark is None or offsets.high_watermark != offsets.last_stable:
            yield f"{place[0]}-{place[1]}: {offsets}"


class _Ends(NamedTuple):
    high_watermark: int | None
    last_stable: int | None


def _open_producers(view: ClusterView, place: Place, leader: int) -> Iterator[str]:
    topic, partition = place
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[partition])])
    answer = view.ask(leader, request, 0)
    if answer is None or answer.topics[0].partitions[0].error_code:
        yield f"{topic}-{partition}: leader {leader} does not describe its producers"
        return
    for each in answer.topics[0].partitions[0].active_producers:
        if each.current_txn_start_offset >= 0:
            yield f"{topic}-{partition}: transaction of producer {each.producer_id} is open: {each}"


def _end(view: ClusterView, place: Place, leader: int, isolation_level: int) -> int | None:
    topic, partition = place
    wanted = ListOffsetsPartition(partition_index=partition, timestamp=_LATEST)
    request = ListOffsetsRequest(
        isolation_level=isolation_level, topics=[ListOffsetsTopic(name=topic, partitions=[wanted])]
    )
    answer = view.ask(leader, request, 5)
    if answer is None or answer.topics[0].partitions[0].error_code != ErrorCode.NONE:
        return None
    offset: int = answer.topics[0].partitions[0].offset
    return offset


def committed_values(servers: str, places: Sequence[Place]) -> dict[Place, list[tuple[int, bytes]]]:
    """Offsets and values that a read_committed consumer gets from the start of each partition to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "audit",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    found = {}
    for place in places:
        consumer.assign([TopicPartition(*place, 0)])
        found[place] = [(offset, message.value() or b"") for offset, message in messages_to_end(consumer)]
    consumer.close()
    return found


def group_offsets(servers: str, group: str, places: Sequence[Place]) -> dict[Place, int]:
    """The committed offset of each partition; 0 without one."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "enable.auto.commit": False})
    committed = consumer.committed([TopicPartition(*place) for place in places], timeout=_CALL_S)
    consumer.close()
    return {(each.topic, each.partition): max(each.offset, 0) for each in committed}
