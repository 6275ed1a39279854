"""The steps of acts that one broker does: a coordinator, a leader, or any broker that knows the topic.

On a single broker `Acts` does one step after the other; in a cluster each step is done by the broker that can do it.
"""

from collections.abc import Callable
from typing import Any

from ...base.coordinator_partition import partition_for_key
from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...protocol.apis import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages import (
    add_partitions_to_txn,
    find_coordinator,
    init_producer_id,
    metadata,
    produce,
)
from ...protocol.records.builder import build_batch
from ...protocol.records.walk import Record
from ..clock.clocks import TestClock
from ..faults.words import MAX_INT64, text_word, whole_number
from .act_error import UnknownTopicError
from .own_requests import OwnRequests
from .until_end import Guard, until_end

__all__ = ["GROUP", "STEPS", "ActSteps"]

STEPS = ("begin_transaction", "until_coordinated_by", "until_led_by", "write_open")
"""The steps that a cluster asks a broker for."""

_TRANSACTION = 1
GROUP = 0
_TIMEOUT_MS = 10_000
_TRANSACTION_TIMEOUT_MS = 60_000
_VALUE = b"left open by a test"
_MAX_EPOCH = 2**15 - 1


class ActSteps:
    """``own``: the requests of the broker to itself. ``longest_transaction_ms``: the broker's limit of a time-out.
    The methods raise ActError when the broker cannot do it, and ValueError for words without a meaning."""

    def __init__(
        self,
        own: Callable[[], OwnRequests],
        longest_transaction_ms: Callable[[], int],
        clock: TestClock,
        guard: Guard,
    ) -> None:
        self.own = own
        self._longest_transaction_ms = longest_transaction_ms
        self._clock = clock
        self.guard = guard

    async def fence(self, transactional_id: str) -> dict[str, int]:
        """Begin a new epoch of the producer with the id, as another producer with it does. Its open transaction is
        aborted."""
        await self.find_coordinator(text_word(transactional_id, "transactional_id"), _TRANSACTION)
        request = init_producer_id.InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=min(_TRANSACTION_TIMEOUT_MS, self._longest_transaction_ms()),
        )
        done = await self.own().ask_until_done(ApiKey.INIT_PRODUCER_ID, 4, request, _at_the_top)
        return {"producer_id": done.producer_id, "producer_epoch": done.producer_epoch}

    @until_end
    async def begin_transaction(self, transactional_id: str, topic: str, partition: int = 0) -> dict[str, int]:
        """The step of `Acts.leave_open` for the coordinator: begin a transaction. Returns the producer."""
        await self.state(topic, partition)
        producer = await self.fence(transactional_id)
        topics = [add_partitions_to_txn.AddPartitionsToTxnTopic(name=topic, partitions=[partition])]
        adding = add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer["producer_id"],
            v3_and_below_producer_epoch=producer["producer_epoch"],
            v3_and_below_topics=topics,
        )
        await self.own().ask_until_done(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            adding,
            lambda response: (
                response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
                None,
            ),
        )
        return producer

    @until_end
    async def write_open(
        self, transactional_id: str, topic: str, partition: int, producer_id: int, producer_epoch: int
    ) -> dict[str, int]:
        """The step of `Acts.leave_open` for the leader: write a record of the transaction. Returns its offset."""
        await self.state(topic, partition)
        text_word(transactional_id, "transactional_id")
        whole_number(producer_id, "producer_id", 0, MAX_INT64)
        whole_number(producer_epoch, "producer_epoch", 0, _MAX_EPOCH)
        records = build_batch(
            [Record(0, self._clock.clock_ms(), _VALUE, _VALUE)],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=0,
            is_transactional=True,
        )
        data = [produce.PartitionProduceData(index=partition, records=memoryview(bytearray(records)))]
        writing = produce.ProduceRequest(
            transactional_id=transactional_id,
            acks=-1,
            timeout_ms=_TIMEOUT_MS,
            topic_data=[produce.TopicProduceData(name=topic, partition_data=data)],
        )
        done = await self.own().ask_until_done(ApiKey.PRODUCE, 7, writing, _of_the_partition)
        return {"offset": done.responses[0].partition_responses[0].base_offset}

    @until_end
    async def until_led_by(self, topic: str, partition: int, leader: int) -> None:
        """Wait until this broker has learned that broker ``leader`` leads the partition."""

        async def is_leader() -> bool:
            return bool((await self.state(topic, partition)).leader_id == leader)

        await self.own().until(is_leader, f"the election of broker {leader} for {topic}-{partition}")

    @until_end
    async def until_coordinated_by(self, group: str, coordinator: int) -> None:
        """Wait until this broker has learned that broker ``coordinator`` coordinates the group."""
        partition = await self.partition_of(group)
        await self.until_led_by(CONSUMER_OFFSETS_TOPIC, partition, coordinator)

    async def partition_of(self, group: str) -> int:
        """The partition of ``__consumer_offsets`` that has the group."""
        topic = await self.topic(CONSUMER_OFFSETS_TOPIC)
        return partition_for_key(text_word(group, "group"), len(topic.partitions))

    async def find_coordinator(self, key: str, key_type: int) -> None:
        """Wait until the coordinator is known, which makes its topic when it is missing."""
        request = find_coordinator.FindCoordinatorRequest(key=key, key_type=key_type)
        await self.own().ask_until_done(ApiKey.FIND_COORDINATOR, 2, request, _at_the_top)

    async def topic(self, topic: str) -> Any:
        """The topic in Metadata. Raises UnknownTopicError."""
        asked = metadata.MetadataRequest(
            topics=[metadata.MetadataRequestTopic(name=text_word(topic, "topic"))], allow_auto_topic_creation=False
        )

        def code_of(response: Any) -> tuple[int, str]:
            code: int = response.topics[0].error_code
            if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise UnknownTopicError(f"there is no topic {topic!r}")
            if code == ErrorCode.INVALID_TOPIC_EXCEPTION:
                raise ValueError(f"{topic!r:.300} cannot be the name of a topic")
            return code, topic

        return (await self.own().ask_until_done(ApiKey.METADATA, 9, asked, code_of)).topics[0]

    async def state(self, topic: str, partition: int) -> Any:
        """The partition in Metadata. Raises UnknownTopicError, and ValueError without such a partition."""
        whole_number(partition, "partition", 0)
        for each in (await self.topic(topic)).partitions:
            if each.partition_index == partition:
                return each
        raise ValueError(f"topic {topic!r} has no partition {partition}")

    async def replicas(self, topic: str, partition: int) -> list[int]:
        """The brokers with a replica, the preferred leader first."""
        return list((await self.state(topic, partition)).replica_nodes)


def _at_the_top(response: Any) -> tuple[int, str | None]:
    """Code and message of a response that has them outside of all lists."""
    return response.error_code, getattr(response, "error_message", None)


def _of_the_partition(response: Any) -> tuple[int, str | None]:
    done = response.responses[0].partition_responses[0]
    return done.error_code, done.error_message
