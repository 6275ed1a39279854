"""Acts: what a test makes a broker do or suffer at once. Each returns when it is done."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...controller.tree.metadata_store import MetadataStoreError
from ...controller.tree.znodes import broker_path
from ...protocol.apis import ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages import alter_partition_reassignments, elect_leaders
from ..clock.clocks import TestClock
from ..faults.words import text_word, whole_number
from ..server import BrokerServer
from .act_error import ActError
from .act_steps import GROUP, ActSteps
from .disk import Disk
from .until_end import until_end

__all__ = ["Acts"]

MAX_PAUSE_MS = 600_000
_TIMEOUT_MS = 10_000


class Acts:
    """Acts of one broker. ``server``: the running broker. They raise ActError when the broker cannot do what they ask,
    or ends meanwhile, and ValueError for words without a meaning."""

    def __init__(self, steps: ActSteps, server: Callable[[], BrokerServer], clock: TestClock, disk: Disk) -> None:
        self._steps = steps
        self.guard = steps.guard
        self._server = server
        self._clock = clock
        self.disk = disk

    # -- logs

    @until_end
    async def apply_retention(self) -> None:
        """Run a round of retention now, and of all other upkeep by age. As in Kafka it deletes whole segments, the
        active one only when its last record is too old."""
        await self._clock.advance()

    @until_end
    async def compact(self, topic: str | None = None) -> None:
        """Compact now all topics with ``cleanup.policy=compact``, or one, whatever ``min.cleanable.dirty.ratio`` and
        the compaction lags say. Open segments are closed before. Segments from the first open transaction on stay."""
        server = self._server()
        if not server.config.boolean("log.cleaner.enable"):
            raise ActError("the broker compacts nothing, because log.cleaner.enable is false")
        if topic is not None:
            await self._steps.topic(topic)  # it must exist
            logs = [log for log in server.api_parts.logs.all_logs() if log.topic_partition.topic == topic]
            if not all(log.config.compact for log in logs):
                raise ValueError(f"topic {topic!r} has no cleanup.policy=compact")
        await server.schedules.store.compact_now(lambda log: topic in (None, log.topic_partition.topic))

    @until_end
    async def expire_offsets(self) -> None:
        """Remove now the committed offsets whose retention time is over."""
        await self._clock.advance()

    # -- transactions

    @until_end
    async def fence(self, transactional_id: str) -> dict[str, int]:
        """Begin a new epoch of the producer with the id, as another producer with it does. Its open transaction is
        aborted."""
        return await self._steps.fence(transactional_id)

    @until_end
    async def leave_open(self, transactional_id: str, topic: str, partition: int = 0) -> dict[str, int]:
        """Write one record in a transaction that nobody ends, so that readers of committed records wait behind it."""
        producer = await self._steps.begin_transaction(transactional_id, topic, partition)
        written = await self._steps.write_open(transactional_id, topic, partition, **producer)
        return {**producer, **written}

    # -- leaders

    @until_end
    async def move_leader(self, topic: str, partition: int, to: int) -> None:
        """Make broker ``to`` the preferred leader of a partition, and elect it. Only the controller can do it."""
        replicas = await self._steps.replicas(topic, partition)
        whole_number(to, "to", 0)
        if to not in replicas:
            raise ValueError(f"broker {to} has no replica of {topic}-{partition}; brokers {replicas} have one")
        ordered = [to, *(each for each in replicas if each != to)]
        if ordered != replicas:
            await self._reorder(topic, partition, ordered)
        partitions = [elect_leaders.TopicPartitions(topic=topic, partitions=[partition])]
        await self._steps.own().ask_until_done(
            ApiKey.ELECT_LEADERS,
            2,
            elect_leaders.ElectLeadersRequest(topic_partitions=partitions, timeout_ms=_TIMEOUT_MS),
            _of_the_election,
        )
        await self._steps.until_led_by(topic, partition, to)

    @until_end
    async def move_coordinator(self, group: str, to: int | None = None) -> int:
        """Move the coordinator of a group to broker ``to``, or to any other broker; returns its id."""
        await self._steps.find_coordinator(text_word(group, "group"), GROUP)
        partition = await self._steps.partition_of(group)
        if to is None:
            state = await self._steps.state(CONSUMER_OFFSETS_TOPIC, partition)
            others = [each for each in state.replica_nodes if each != state.leader_id]
            if not others:
                raise ActError(f"no other broker has a replica of {CONSUMER_OFFSETS_TOPIC}-{partition}")
            to = others[0]
        await self.move_leader(CONSUMER_OFFSETS_TOPIC, partition, to)
        return to

    async def _reorder(self, topic: str, partition: int, replicas: list[int]) -> None:
        moved = [alter_partition_reassignments.ReassignablePartition(partition_index=partition, replicas=replicas)]
        topics = [alter_partition_reassignments.ReassignableTopic(name=topic, partitions=moved)]
        await self._steps.own().ask_until_done(
            ApiKey.ALTER_PARTITION_REASSIGNMENTS,
            0,
            alter_partition_reassignments.AlterPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS, topics=topics),
            lambda response: (
                response.error_code or response.responses[0].partitions[0].error_code,
                response.error_message,
            ),
        )

        async def is_ordered() -> bool:
            return await self._steps.replicas(topic, partition) == replicas

        await self._steps.own().until(is_ordered, f"the new order of replicas of {topic}-{partition}")

    # -- metadata store

    @until_end
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

        await self._steps.own().until(is_registered, "the registration with a new session")

    # -- loop

    async def pause(self, ms: int) -> None:
        """Let the event loop stand still, as a process that was stopped and goes on."""
        _stand_still(whole_number(ms, "ms", 0, MAX_PAUSE_MS) / 1000)

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
