"""What clients do while a broker is killed: produce, consume in a group, commit, make and delete topics.

Each keeps a book of what the broker acknowledged. All go on when the broker is away, until they are told to stop.
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
    """A thread that works in steps until it is stopped; ``steps`` counts what was acknowledged."""

    def __init__(self) -> None:
        self.steps = 0
        self.failures: list[str] = []
        self.progress = threading.Condition()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Returns when the step under way is over."""
        self._stopping.set()
        await_thread(self._thread, f"the last step of {type(self).__name__} after {self.steps}")

    def give_up(self) -> None:
        """Stop without waiting for anything."""
        self._stopping.set()

    def further(self, more: int) -> Callable[[], bool]:
        """Whether ``more`` steps that begin only now are acknowledged; where a load has several partitions, so many in
        each of them."""
        wanted = self.steps + more + 1  # one was under way
        return lambda: self.steps >= wanted

    def wait_for(self, more: int) -> None:
        """Until so many further steps are acknowledged, or the load failed."""
        with self.progress:
            wanted = self.steps + more
            came = self.progress.wait_for(lambda: self.steps >= wanted or bool(self.failures), HANGS_AFTER_S)
        assert came, f"{type(self).__name__} is at step {self.steps}, not at {wanted}, after {HANGS_AFTER_S} s"

    def done(self, change: Callable[[], None]) -> None:
        """Enter something acknowledged into the books."""
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
            while not self._stopping.is_set():
                self.step()
        except BaseException as error:
            traceback.print_exc()
            self.fail(repr(error))  # else it would be waited for in vain

    def step(self) -> None:
        raise NotImplementedError


class Producing(CrashLoad):
    """An idempotent producer that counts up in every partition of a topic: ``name:number``.

    Attributes:
        offsets: of what was acknowledged, by partition and number.
        implied: numbers by partition that were acknowledged without an offset. Of a request that timed out librdkafka
            knows that it was stored when a later one is acknowledged, but not where.
        sent: how many, by partition.
    """

    most_under_way = 100
    """In each partition: what one of them keeps waiting does not keep the others waiting, too."""

    def __init__(self, servers: str, topic: str, partitions: int, name: str, **settings: object) -> None:
        """``settings``: further ones of librdkafka, with ``_`` for dots."""
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
        """Of that record, or the next one behind it whose offset is known; None as long as there is none."""
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
        """Returns when everything that was sent is acknowledged."""
        super().stop()
        left = self._producer.flush(HANGS_AFTER_S)
        assert not left, f"{left} records are not acknowledged after {HANGS_AFTER_S} s"


class Committing(CrashLoad):
    """Commits 1, 2, 3, … in turn to the partitions of a topic, for a group that nobody joins."""

    def __init__(self, servers: str, topic: str, partitions: int, group: str, **settings: object) -> None:
        """``settings``: further ones of librdkafka, with ``_`` for dots."""
        super().__init__()
        self.group = group
        self.committed = {TopicPartition(topic, partition): 0 for partition in range(partitions)}
        self._consumer = Consumer({"bootstrap.servers": servers, **_QUICK, **_dotted(settings), "group.id": group})
        self.tried = 0
        """The last offset of which a commit was sent, whether it was acknowledged or not."""

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
    """A member of a group that reads a topic and commits what it read.

    It fails when it is given again what it had committed, whose commit was acknowledged.

    Attributes:
        seen: values, by partition.
        consumed: how far it was given records, by partition: the offset after the last one.
        committed: by partition.
    """

    def __init__(self, servers: str, topic: str, group: str, **settings: object) -> None:
        """``settings``: further ones of librdkafka, with ``_`` for dots."""
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
    """Makes topics, changes their settings and deletes them.

    Attributes:
        alive: partitions and ``retention.ms`` of the topics that must be there.
        gone: those that must not be. A topic whose last change was not acknowledged is in neither.
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
        """None when the broker was away or went away."""
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
"""None, REQUEST_TIMED_OUT, NOT_CONTROLLER: a broker that stops or starts may say so, and nothing is promised then."""
