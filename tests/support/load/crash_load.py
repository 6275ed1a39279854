"""Clients that work while a broker is killed: they produce, consume in a group, commit, and create and delete topics.

Each records what the broker acknowledged. All continue while the broker is down, until stopped.
"""

import threading
import traceback
from collections import defaultdict
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from pybroker.protocol.codec import Message as Request
from pybroker.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from pybroker.protocol.messages.incremental_alter_configs import AlterableConfig as Alteration
from pybroker.protocol.messages.incremental_alter_configs import AlterConfigsResource, IncrementalAlterConfigsRequest
from support.clients.wire_client import WireClient
from support.time.patience import HANGS_AFTER_S, await_thread

__all__ = ["Committing", "Consuming", "CrashLoad", "Producing", "TopicMaking"]

_QUICK = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100}
_AWAY_S = 0.02
_TOPIC = 2


class CrashLoad:
    """A thread that works in steps until stopped; `steps` counts acknowledged steps. `pause_s`: seconds between two."""

    pause_s = 0.0

    def __init__(self) -> None:
        self.steps = 0
        self.failures: list[str] = []
        self.progress = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Stops; returns when the current step is over."""
        self._stopping.set()
        await_thread(self._thread, f"the last step of {type(self).__name__} after {self.steps}")

    def give_up(self) -> None:
        """Stops without waiting."""
        self._stopping.set()

    def further(self, more: int) -> Callable[[], bool]:
        """Returns a condition: `more` steps begun after now are acknowledged, in each partition if the load has
        several.
        """
        wanted = self.steps + more + 1  # a step was in progress
        return lambda: self.steps >= wanted

    def wait_for(self, more: int) -> None:
        """Waits until this many more steps are acknowledged, or the load failed."""
        with self.progress:
            wanted = self.steps + more
            came = self.progress.wait_for(lambda: self.steps >= wanted or bool(self.failures), HANGS_AFTER_S)
        assert came, f"{type(self).__name__} is at step {self.steps}, not at {wanted}, after {HANGS_AFTER_S} s"

    def done(self, change: Callable[[], None]) -> None:
        """Records something acknowledged."""
        with self.progress:
            change()
            self.steps += 1
            self.progress.notify_all()

    def fail(self, what: str) -> None:
        with self.progress:
            self.failures.append(what)
            self.progress.notify_all()

    def _run(self) -> None:
        try:
            while not self._stopping.wait(self.pause_s):
                self.step()
        except BaseException as error:
            traceback.print_exc()
            self.fail(repr(error))  # otherwise the stop would wait for this thread forever

    def step(self) -> None:
        raise NotImplementedError


class Producing(CrashLoad):
    """An idempotent producer that counts up in every partition of a topic: `name:number`.

    Attributes: offsets: of acknowledged records, by partition and number. implied: numbers acknowledged without an
    offset, by partition. When a later request is acknowledged, librdkafka knows that a timed-out one was stored,
    but not where. sent: number of records, by partition.
    """

    most_under_way = 100
    """Maximum records in flight in each partition, so that one blocked partition does not block the others."""

    def __init__(self, servers: str, topic: str, partitions: int, name: str, **settings: object) -> None:
        """`settings`: more settings of librdkafka, with `_` for dots."""
        super().__init__()
        self.name = name
        self.topic = topic
        self.offsets: dict[int, dict[int, int]] = {partition: {} for partition in range(partitions)}
        self.implied: dict[int, set[int]] = {partition: set() for partition in range(partitions)}
        self.sent = dict.fromkeys(range(partitions), 0)
        self._next = 0
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                **_QUICK,
                "enable.idempotence": True,
                "linger.ms": 1,
                "batch.size": 20_000,  # no batch may be larger than a segment
                "message.timeout.ms": 0,
                "retry.backoff.max.ms": 100,
                **_dotted(settings),
            }
        )

    def further(self, more: int) -> Callable[[], bool]:
        wanted = {partition: number + more for partition, number in self.sent.items()}
        return lambda: all(
            number in self.offsets[partition] or number in self.implied[partition]
            for partition, number in wanted.items()
        )

    def step(self) -> None:
        behind = [each for each in self.sent if self._under_way(each) < self.most_under_way]
        if not behind:
            self._producer.poll(0.05)
            return
        partition = self._next = next((each for each in behind if each > self._next), behind[0])
        number = self.sent[partition]
        value = f"{self.name}:{number}"
        self._producer.produce(self.topic, value, partition=partition, on_delivery=self._delivered)
        self.sent[partition] = number + 1
        self._producer.poll(0)

    def _under_way(self, partition: int) -> int:
        return self.sent[partition] - len(self.offsets[partition]) - len(self.implied[partition])

    def offset_from(self, partition: int, number: int) -> int | None:
        """Returns the offset of that record, or of the next one with a known offset; None if there is none yet."""
        offsets = self.offsets[partition]
        return next((offsets[each] for each in range(number, self.sent[partition]) if each in offsets), None)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        value, partition, offset = message.value(), message.partition(), message.offset()
        if error is not None or value is None or partition is None:
            self.fail(str(error))
            return
        number = int(value.rpartition(b":")[2])
        if offset is None:
            self.done(lambda: self.implied[partition].add(number))
        else:
            self.done(lambda: self.offsets[partition].update({number: offset}))

    def stop(self) -> None:
        """Stops; returns when everything sent is acknowledged."""
        super().stop()
        left = self._producer.flush(HANGS_AFTER_S)
        assert not left, f"{left} records are not acknowledged after {HANGS_AFTER_S} s"


class Committing(CrashLoad):
    """Commits 1, 2, 3, … in turn for the partitions of a topic, for a group without members."""

    def __init__(self, servers: str, topic: str, partitions: int, group: str, **settings: object) -> None:
        """`settings`: more settings of librdkafka, with `_` for dots."""
        super().__init__()
        self.group = group
        self.committed = {TopicPartition(topic, partition): 0 for partition in range(partitions)}
        self._consumer = Consumer({"bootstrap.servers": servers, **_QUICK, **_dotted(settings), "group.id": group})
        self.tried = 0
        """The last offset that was sent, acknowledged or not."""

    def further(self, more: int) -> Callable[[], bool]:
        wanted = self.tried + more
        return lambda: all(offset >= wanted for offset in list(self.committed.values()))

    def step(self) -> None:
        self.tried += 1
        offsets = [TopicPartition(each.topic, each.partition, self.tried) for each in self.committed]
        try:
            results = self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            return
        kept = [each for each in self.committed for result in results or () if result == each and result.error is None]
        self.done(lambda: self.committed.update(dict.fromkeys(kept, self.tried)))

    def stop(self) -> None:
        super().stop()
        self._consumer.close()


class Consuming(CrashLoad):
    """A group member that reads a topic and commits what it read. It fails if it gets a record again whose commit was
    acknowledged.

    Attributes:
        seen: values, by partition.
        consumed: offset after the last record received, by partition.
        committed: by partition.
    """

    def __init__(self, servers: str, topic: str, group: str, **settings: object) -> None:
        """`settings`: more settings of librdkafka, with `_` for dots."""
        super().__init__()
        self.topic = topic
        self.group = group
        self.seen: dict[int, set[bytes]] = defaultdict(set)
        self.consumed: dict[int, int] = {}
        self.committed: dict[int, int] = {}
        basic = {"session.timeout.ms": 6000, "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self._consumer = Consumer(
            {"bootstrap.servers": servers, **_QUICK, **basic, **_dotted(settings), "group.id": group}
        )
        self._consumer.subscribe([topic])

    def step(self) -> None:
        messages = [message for message in self._consumer.consume(200, timeout=0.1) if message.error() is None]
        if not messages:
            return
        for message in messages:
            value, partition, offset = message.value(), message.partition(), message.offset()
            assert value is not None
            assert partition is not None
            assert offset is not None
            begin = self.committed.get(partition, 0)
            assert offset >= begin, f"{self.group} is given offset {offset} of partition {partition} after {begin}"
            self.seen[partition].add(value)
            self.consumed[partition] = max(offset + 1, self.consumed.get(partition, 0))
        try:
            results = self._consumer.commit(asynchronous=False) or []
        except KafkaException:
            return
        kept = {each.partition: each.offset for each in results if each.error is None and each.offset >= 0}
        self.done(lambda: self.committed.update(kept))

    def stop(self) -> None:
        super().stop()
        self._consumer.close()


def _dotted(settings: Mapping[str, object]) -> dict[str, object]:
    return {name.replace("_", "."): value for name, value in settings.items()}


class TopicMaking(CrashLoad):
    """Creates topics, changes their settings and deletes them.

    Attributes:
        alive: partitions and `retention.ms` of topics that must exist.
        gone: topics that must not exist. A topic whose last change was not acknowledged is in neither.
    """

    def __init__(self, servers: str, random: Random) -> None:
        super().__init__()
        self.alive: dict[str, tuple[int, str]] = {}
        self.gone: set[str] = set()
        self._servers = servers
        self._random = random
        self._client: WireClient | None = None
        self._made = 0

    def step(self) -> None:
        dice = self._random.random()
        if len(self.alive) < 3 or dice < 0.4:
            self._make()
        elif dice < 0.7:
            self._alter(self._random.choice(sorted(self.alive)))
        else:
            self._delete(self._random.choice(sorted(self.alive)))

    def _make(self) -> None:
        self._made += 1
        name, partitions, retention = f"made-{self._made}", self._random.choice((1, 3)), str(10**9 + self._made)
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[CreatableTopicConfig(name="retention.ms", value=retention)],
        )
        answer = self._ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
        if answer is not None and self._is_good(answer.topics[0].error_code, f"making {name}"):
            self.done(lambda: self.alive.update({name: (partitions, retention)}))

    def _alter(self, name: str) -> None:
        partitions, _ = self.alive.pop(name)
        retention = str(10**9 + self._random.randrange(10**6))
        change = Alteration(name="retention.ms", config_operation=0, value=retention)
        resource = AlterConfigsResource(resource_type=_TOPIC, resource_name=name, configs=[change])
        answer = self._ask(IncrementalAlterConfigsRequest(resources=[resource]), 0)
        if answer is not None and self._is_good(answer.responses[0].error_code, f"altering {name}"):
            self.done(lambda: self.alive.update({name: (partitions, retention)}))

    def _delete(self, name: str) -> None:
        del self.alive[name]
        answer = self._ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=30_000), 3)
        if answer is not None and self._is_good(answer.responses[0].error_code, f"deleting {name}"):
            self.done(lambda: self.gone.add(name))

    def _is_good(self, error_code: int, what: str) -> bool:
        if error_code not in _AWAY_CODES:
            self.fail(f"{what}: error code {error_code}")
        return error_code == 0

    def _ask(self, request: Request, version: int) -> Any:
        """Returns the response; None if the broker is or goes down."""
        try:
            if self._client is None:
                self._client = WireClient(self._servers)
            return self._client.ask(request, version)
        except (OSError, AssertionError):
            if self._client is not None:
                self._client.close()
                self._client = None
            self._stopping.wait(_AWAY_S)
            return None

    def stop(self) -> None:
        super().stop()
        if self._client is not None:
            self._client.close()


_AWAY_CODES = frozenset({0, 7, 41})
"""Codes of a broker that stops or starts (NONE, REQUEST_TIMED_OUT, NOT_CONTROLLER); nothing is promised then."""
