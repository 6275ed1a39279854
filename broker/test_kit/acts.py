"""Acts: what a test makes a broker do or suffer at once. Each returns when it is done."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...base.coordinator_partition import partition_for_key
from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...controller.tree.metadata_store import MetadataStoreError
from ...controller.tree.znodes import broker_path
from ...protocol.apis import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages import (
    add_partitions_to_txn,
    alter_partition_reassignments,
    elect_leaders,
    find_coordinator,
    init_producer_id,
    metadata,
    produce,
)
from ...protocol.records.builder import build_batch
from ...protocol.records.walk import Record
from ..clock.clocks import TestClock
from ..server import BrokerServer
from .act_error import ActError
from .disk import Disk
from .own_requests import OwnRequests

__all__ = ["Acts"]

MAX_PAUSE_MS = 600_000
_TIMEOUT_MS = 10_000
_TRANSACTION_TIMEOUT_MS = 60_000
_TRANSACTION = 1
_GROUP = 0
_VALUE = b"left open by a test"


class Acts:
    """Acts of one broker. ``own``: its requests to itself; ``server``: the running broker. They raise ActError when the
    broker cannot do what they ask, and ValueError for words without a meaning."""

    def __init__(
        self, own: Callable[[], OwnRequests], server: Callable[[], BrokerServer], clock: TestClock, disk: Disk
    ) -> None:
        self._own = own
        self._server = server
        self._clock = clock
        self.disk = disk

    # -- logs

    async def apply_retention(self) -> None:
        """Run a round of retention now, and of all other upkeep by age. As in Kafka it deletes whole segments, the
        active one only when its last record is too old."""
        await self._clock.advance()

    async def compact(self, topic: str | None = None) -> None:
        """Compact now all topics with ``cleanup.policy=compact``, or one, whatever ``min.cleanable.dirty.ratio`` and
        the compaction lags say. Open segments are closed before. Segments from the first open transaction on stay."""
        server = self._server()
        if not server.config.boolean("log.cleaner.enable"):
            raise ActError("the broker compacts nothing, because log.cleaner.enable is false")
        if topic is not None:
            await self._topic(topic)  # it must exist
            logs = [log for log in server.api_parts.logs.all_logs() if log.topic_partition.topic == topic]
            if not all(log.config.compact for log in logs):
                raise ValueError(f"topic {topic!r} has no cleanup.policy=compact")
        await server.schedules.store.compact_now(lambda log: topic in (None, log.topic_partition.topic))

    async def expire_offsets(self) -> None:
        """Remove now the committed offsets whose retention time is over."""
        await self._clock.advance()

    # -- transactions

    async def fence(self, transactional_id: str) -> dict[str, int]:
        """Begin a new epoch of the producer with the id, as another producer with it does. Its open transaction is
        aborted."""
        await self._find_coordinator(transactional_id, _TRANSACTION)
        request = init_producer_id.InitProducerIdRequest(
            transactional_id=transactional_id, transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS
        )
        done = await self._own().ask_until_done(ApiKey.INIT_PRODUCER_ID, 4, request, _at_the_top)
        return {"producer_id": done.producer_id, "producer_epoch": done.producer_epoch}

    async def leave_open(self, transactional_id: str, topic: str, partition: int = 0) -> dict[str, int]:
        """Write one record in a transaction that nobody ends, so that readers of committed records wait behind it."""
        producer = await self.begin_transaction(transactional_id, topic, partition)
        written = await self.write_open(transactional_id, topic, partition, **producer)
        return {**producer, **written}

    async def begin_transaction(self, transactional_id: str, topic: str, partition: int = 0) -> dict[str, int]:
        """The part of `leave_open` for the coordinator: begin a transaction with a partition. Returns the producer."""
        producer = await self.fence(transactional_id)
        topics = [add_partitions_to_txn.AddPartitionsToTxnTopic(name=topic, partitions=[partition])]
        adding = add_partitions_to_txn.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transactional_id,
            v3_and_below_producer_id=producer["producer_id"],
            v3_and_below_producer_epoch=producer["producer_epoch"],
            v3_and_below_topics=topics,
        )
        await self._own().ask_until_done(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            adding,
            lambda response: (
                response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code,
                None,
            ),
        )
        return producer

    async def write_open(
        self, transactional_id: str, topic: str, partition: int, producer_id: int, producer_epoch: int
    ) -> dict[str, int]:
        """The part of `leave_open` for the leader: write a record of the transaction. Returns its offset."""
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
        done = await self._own().ask_until_done(ApiKey.PRODUCE, 7, writing, _of_the_partition)
        return {"offset": done.responses[0].partition_responses[0].base_offset}

    # -- leaders

    async def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make broker ``to`` the preferred leader of a partition, and elect it. Only the controller can do it."""
        replicas = await self._replicas(topic, partition)
        if to not in replicas:
            raise ValueError(f"broker {to} has no replica of {topic}-{partition}; brokers {replicas} have one")
        ordered = [to, *(each for each in replicas if each != to)]
        if ordered != replicas:
            await self._reorder(topic, partition, ordered)
        partitions = [elect_leaders.TopicPartitions(topic=topic, partitions=[partition])]
        await self._own().ask_until_done(
            ApiKey.ELECT_LEADERS,
            2,
            elect_leaders.ElectLeadersRequest(topic_partitions=partitions, timeout_ms=_TIMEOUT_MS),
            _of_the_election,
        )

        await self.until_led_by(topic, partition, to)

    async def until_led_by(self, topic: str, partition: int, leader: int) -> None:
        """Wait until this broker has learned that broker ``leader`` leads the partition."""

        async def is_leader() -> bool:
            return bool((await self._state(topic, partition)).leader_id == leader)

        await self._own().until(is_leader, f"the election of broker {leader} for {topic}-{partition}")

    async def until_coordinated_by(self, group: str, coordinator: int) -> None:
        """Wait until this broker has learned that broker ``coordinator`` coordinates the group."""
        partition = await self._partition_of(group)
        await self.until_led_by(CONSUMER_OFFSETS_TOPIC, partition, coordinator)

    async def move_coordinator(self, group: str, to: int | None = None) -> int:
        """Move the coordinator of a group to broker ``to``, or to any other broker; returns its id."""
        await self._find_coordinator(group, _GROUP)
        partition = await self._partition_of(group)
        if to is None:
            state = await self._state(CONSUMER_OFFSETS_TOPIC, partition)
            others = [each for each in state.replica_nodes if each != state.leader_id]
            if not others:
                raise ActError(f"no other broker has a replica of {CONSUMER_OFFSETS_TOPIC}-{partition}")
            to = others[0]
        await self.move_leader(CONSUMER_OFFSETS_TOPIC, partition, to)
        return to

    async def _partition_of(self, group: str) -> int:
        topic = await self._topic(CONSUMER_OFFSETS_TOPIC)
        return partition_for_key(group, len(topic.partitions))

    async def _reorder(self, topic: str, partition: int, replicas: list[int]) -> None:
        moved = [alter_partition_reassignments.ReassignablePartition(partition_index=partition, replicas=replicas)]
        topics = [alter_partition_reassignments.ReassignableTopic(name=topic, partitions=moved)]
        await self._own().ask_until_done(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            0,
            alter_partition_reassignments.AlterPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS, topics=topics),
            lambda response: (
                response.error_code or response.responses[0].partitions[0].error_code,
                response.error_message,
            ),
        )

        async def is_ordered() -> bool:
            return await self._replicas(topic, partition) == replicas

        await self._own().until(is_ordered, f"the new order of replicas of {topic}-{partition}")

    async def _find_coordinator(self, key: str, key_type: int) -> None:
        """Wait until the coordinator is known, which makes its topic when it is missing."""
        request = find_coordinator.FindCoordinatorRequest(key=key, key_type=key_type)
        await self._own().ask_until_done(ApiKey.FIND_COORDINATOR, 2, request, _at_the_top)

    async def _topic(self, topic: str) -> Any:
        asked = metadata.MetadataRequest(
            topics=[metadata.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
        )
        response = await self._own().ask_until_done(
            ApiKey.METADATA, 9, asked, lambda response: (response.topics[0].error_code, topic)
        )
        return response.topics[0]

    async def _state(self, topic: str, partition: int) -> Any:
        for each in (await self._topic(topic)).partitions:
            if each.partition_index == partition:
                return each
        raise ValueError(f"topic {topic!r} has no partition {partition}")

    async def _replicas(self, topic: str, partition: int) -> list[int]:
        return list((await self._state(topic, partition)).replica_nodes)

    # -- metadata store

    async def expire_session(self) -> None:
        """End the session with the metadata store, as a long pause does; returns when the broker is registered again.
        A broker with the embedded store has no session."""
        server = self._server()
        store, path = server.metadata_store, broker_path(server.broker_id)
        before = store.session_id
        try:
            await store.expire()
        except MetadataStoreError as error:
            raise ActError(str(error)) from error

        async def is_registered() -> bool:
            if store.session_id == before or store.is_session_lost:
                return False
            with suppress(MetadataStoreError):
                found = await store.exists(path)
                return found is not None and found.ephemeral_owner == store.session_id
            return False

        await self._own().until(is_registered, "the registration with a new session")

    # -- loop

    async def pause(self, ms: int) -> None:
        """Let the event loop stand still, as a process that was stopped and goes on."""
        if not 0 <= ms <= MAX_PAUSE_MS:
            raise ValueError(f"ms is a whole number from 0 to {MAX_PAUSE_MS}, not {ms!r}")
        _stand_still(ms / 1000)

    # -- disk

    async def disk_full(self, directory: str | None = None) -> None:
        """As `Disk.full`."""
        self.disk.full(directory)

    async def disk_fail(self, directory: str | None = None) -> None:
        """As `Disk.fail`."""
        self.disk.fail(directory)

    async def disk_slow(self, ms: int, directory: str | None = None) -> None:
        """As `Disk.slow`."""
        self.disk.slow(ms, directory)

    async def disk_heal(self) -> None:
        """As `Disk.heal`."""
        self.disk.heal()


def _stand_still(duration_s: float) -> None:
    time.sleep(duration_s)


def _of_the_election(response: Any) -> tuple[int, str | None]:
    """It may be needed no more."""
    code, message = response.error_code, None
    for topic in response.replica_election_results:
        for each in topic.partition_result:
            code, message = code or each.error_code, message or each.error_message
    return (0 if code == ErrorCode.ELECTION_NOT_NEEDED else code), message


def _at_the_top(response: Any) -> tuple[int, str | None]:
    return response.error_code, getattr(response, "error_message", None)


def _of_the_partition(response: Any) -> tuple[int, str | None]:
    done = response.responses[0].partition_responses[0]
    return done.error_code, done.error_message
