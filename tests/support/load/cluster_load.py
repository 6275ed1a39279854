"""Clients of a failing cluster that record what was acknowledged: kafka-python's, and one that changes topics.

They come in addition to the clients of `crash_load`.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError, NoOffsetForPartitionError
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from support.load.cluster_view import ClusterView
from support.load.crash_load import CrashLoad
from support.time.patience import HANGS_AFTER_S

__all__ = ["PlainMember", "PlainProducing", "TopicChanging"]

_NEVER_MS = 86_400_000
_QUICK = {"reconnect_backoff_ms": 20, "reconnect_backoff_max_ms": 100, "request_timeout_ms": 10_000}
_MOST_UNDER_WAY = 10
_PACE_S = 0.05
"""Seconds between two changes of topics: dozens of topics in a test, not thousands."""


class PlainProducing(CrashLoad):
    """A producer of kafka-python with acks=all that is not idempotent, so a repeated record may be stored twice.

    Attributes:
        offsets: of acknowledged records, by partition and number.
    """

    def __init__(self, servers: str, topic: str, partitions: int, name: str) -> None:
        super().__init__()
        self.name = name
        self.topic = topic
        self.offsets: dict[int, dict[int, int]] = {partition: {} for partition in range(partitions)}
        self._sent = 0
        self._settled = 0
        self._producer = KafkaProducer(
            bootstrap_servers=servers,
            acks="all",
            enable_idempotence=False,
            delivery_timeout_ms=_NEVER_MS,
            max_block_ms=_NEVER_MS,
            **_QUICK,
        )

    def further(self, more: int) -> Callable[[], bool]:
        first = self._sent + more * len(self.offsets)
        wanted = {number % len(self.offsets): number for number in range(first, first + len(self.offsets))}
        return lambda: all(number in self.offsets[partition] for partition, number in wanted.items())

    def step(self) -> None:
        with self.progress:
            if self._sent - self._settled >= _MOST_UNDER_WAY:
                self.progress.wait(_PACE_S)
                return
        number, self._sent = self._sent, self._sent + 1
        partition = number % len(self.offsets)
        sent = self._producer.send(self.topic, self.value(number), partition=partition)
        sent.add_callback(partial(self._acknowledged, partition, number))
        sent.add_errback(lambda error: self.fail(repr(error)))

    def give_up(self) -> None:
        """Stops the client without waiting: its thread would open sockets for ever and close none when the brokers are
        gone.
        """
        super().give_up()
        self._producer._sender.force_close()  # otherwise close waits for requests in flight and then closes nothing
        self._producer.close(timeout=HANGS_AFTER_S)

    def value(self, number: int) -> bytes:
        return f"{self.name}:{number}".encode()

    def _acknowledged(self, partition: int, number: int, metadata: Any) -> None:
        def enter() -> None:
            self.offsets[partition][number] = metadata.offset
            self._settled += 1

        self.done(enter)

    def stop(self) -> None:
        """Stops; returns when everything sent is acknowledged."""
        super().stop()
        if self._sent > self._settled:
            self.wait_for(self._sent - self._settled)
        self._producer.close()


class PlainMember(CrashLoad):
    """A group member by kafka-python that reads a topic and commits what it read. It never resets its offset.

    The group must have a committed offset for each partition: the member fails without one, and if it gets a committed
    record again. It keeps its position when told that its offset is out of range: a leader that is cut off lacks
    records of the others, and kafka-python may ask it because it accepts older metadata. If that lasts, there is no
    progress.

    Attributes:
        seen: values, by partition.
        consumed: offset after the last record received, by partition.
        committed: by partition.
    """

    def __init__(self, servers: str, topic: str, group: str) -> None:
        super().__init__()
        self.seen: dict[int, set[bytes]] = defaultdict(set)
        self.consumed: dict[int, int] = {}
        self.committed: dict[int, int] = {}
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=servers,
            group_id=group,
            auto_offset_reset="none",
            enable_auto_commit=False,
            session_timeout_ms=6000,
            heartbeat_interval_ms=500,
            **_QUICK,
        )

    def step(self) -> None:
        try:
            self._read()
            self._commit()
        except NoOffsetForPartitionError:
            raise
        except KafkaError:
            return

    def _read(self) -> None:
        for place, records in self._consumer.poll(timeout_ms=100, max_records=200).items():
            begin = self.committed.get(place.partition, 0)
            assert records[0].offset >= begin, f"{place} is given from offset {records[0].offset} on, after {begin}"
            self.seen[place.partition].update(record.value for record in records)
            self.consumed[place.partition] = records[-1].offset + 1

    def _commit(self) -> None:
        positions = {place.partition: self._consumer.position(place) for place in self._consumer.assignment()}
        self._consumer.commit()
        kept = {
            partition: offset
            for partition, offset in positions.items()
            if offset is not None and offset > self.committed.get(partition, 0)
        }
        if kept:
            self.done(lambda: self.committed.update(kept))

    def stop(self) -> None:
        super().stop()
        self._consumer.close(autocommit=False)


class TopicChanging(CrashLoad):
    """Creates topics with a replica on three brokers, adds partitions, and deletes them.

    Attributes:
        alive: partitions of topics that must exist.
        gone: topics that must not exist. A topic whose last change was not acknowledged is in neither.
    """

    def __init__(self, view: ClusterView, random: Random, name: str) -> None:
        super().__init__()
        self.alive: dict[str, int] = {}
        self.gone: set[str] = set()
        self._view = view
        self._random = random
        self._name = name
        self._made = 0

    def step(self) -> None:
        dice = self._random.random()
        if len(self.alive) < 2 or (dice < 0.3 and len(self.alive) < 5):
            self._make()
        elif dice < 0.6:
            self._grow(self._random.choice(sorted(self.alive)))
        else:
            self._delete(self._random.choice(sorted(self.alive)))
        self._stopping.wait(_PACE_S)

    def _make(self) -> None:
        self._made += 1
        name, partitions = f"{self._name}-{self._made}", self._random.choice((1, 2))
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=3)
        answer = self._ask(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 5)
        if answer is not None and answer.topics[0].error_code == ErrorCode.NONE:
            self.done(lambda: self.alive.update({name: partitions}))

    def _grow(self, name: str) -> None:
        partitions = self.alive.pop(name)
        topic = CreatePartitionsTopic(name=name, count=partitions + 1, assignments=None)
        answer = self._ask(CreatePartitionsRequest(topics=[topic], timeout_ms=5000), 1)
        if answer is not None:
            self._settle(
                name, partitions, answer.results[0].error_code, lambda: self.alive.update({name: partitions + 1})
            )

    def _delete(self, name: str) -> None:
        partitions = self.alive.pop(name)
        answer = self._ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=5000), 3)
        if answer is not None:
            self._settle(name, partitions, answer.responses[0].error_code, lambda: self.gone.add(name))

    def _settle(self, name: str, partitions: int, error_code: int, change: Callable[[], None]) -> None:
        """Handles a refused change, whose effect is unknown. If the error is that the topic does not exist, that must
        not be true in the end.
        """
        if error_code == ErrorCode.NONE:
            self.done(change)
        elif error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self.alive[name] = partitions

    def _ask(self, request: Message, version: int) -> Any:
        return self._view.ask_controller(request, version)
