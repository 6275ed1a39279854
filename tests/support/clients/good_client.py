"""A well-behaved client: it produces a record, reads it back and compares, again and again."""

import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.record import Record, build_batch, read_records
from support.record_bytes import batch_at
from support.time.patience import await_that

from .wire_client import WireClient

__all__ = ["GoodClient", "create_topic", "make_coordinator", "produce_request"]


_PAUSE_S = 0.005
"""Seconds between two rounds: without a pause the client and its broker would take both processors of a test that
waits.
"""


def produce_request(topic: str, records: bytes | memoryview, *, acks: int = -1, partition: int = 0) -> ProduceRequest:
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[data])


def create_topic(client: WireClient, name: str, settings: Mapping[str, str] | None = None) -> None:
    """Creates a topic of one partition; waits until it has a leader."""
    configs = [CreatableTopicConfig(name=key, value=value) for key, value in (settings or {}).items()]
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=configs)
    (result,) = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 7).topics
    assert result.error_code == ErrorCode.NONE, result


def make_coordinator(client: WireClient) -> None:
    """Has __consumer_offsets created, which groups need; asks again until it is."""
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=["any"])
    await_that(lambda: client.ask(request, 4).coordinators[0].error_code == ErrorCode.NONE, "groups have a coordinator")


class GoodClient:
    """A client in its own thread, on two connections. `served` counts correct responses."""

    def __init__(self, bootstrap_servers: str, topic: str = "good") -> None:
        self._topic = topic
        self._connection = WireClient(bootstrap_servers)
        self._newcomers = bootstrap_servers
        self._offset = 0
        self.served = 0
        self.latencies_s: list[float] = []
        self.failure: BaseException | None = None
        self._progress = threading.Condition()
        self._stopping = threading.Event()
        create_topic(self._connection, topic)
        self._thread = threading.Thread(target=self._run, name="good client", daemon=True)

    def __enter__(self) -> "GoodClient":
        self._thread.start()
        self.is_served()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._connection.close()

    def is_served(self, times: int = 3) -> None:
        """Waits for this many more correct responses; raises the client's failure."""
        with self._progress:
            goal = self.served + 3 * times
            while self.served < goal:
                if self.failure is not None:
                    raise self.failure
                self._progress.wait()

    def newcomer_is_served(self) -> None:
        """Checks that a new connection gets a response too."""
        with WireClient(self._newcomers) as newcomer:
            request = MetadataRequest(topics=[MetadataRequestTopic(name=self._topic)])
            assert newcomer.ask(request, 12).topics[0].error_code == ErrorCode.NONE

    def _run(self) -> None:
        try:
            while not self._stopping.wait(_PAUSE_S):
                self._round()
        except BaseException as error:
            with self._progress:
                self.failure = error
                self._progress.notify_all()

    def _round(self) -> None:
        value = f"record {self._offset}".encode()
        self._produce(value)
        self._consume(value)
        topics = self._timed(MetadataRequest(topics=[MetadataRequestTopic(name=self._topic)]), 12).topics
        self._expect(topics[0].error_code == ErrorCode.NONE, topics)
        self._offset += 1

    def _produce(self, value: bytes) -> None:
        now_ms = time.time_ns() // 1_000_000
        batch = build_batch([Record(0, now_ms, b"key", value)])
        answer = self._timed(produce_request(self._topic, batch), 9)
        (partition,) = answer.responses[0].partition_responses
        self._expect((partition.error_code, partition.base_offset) == (ErrorCode.NONE, self._offset), partition)

    def _consume(self, value: bytes) -> None:
        wanted = FetchPartition(partition=0, fetch_offset=self._offset, partition_max_bytes=1_048_576)
        topic = FetchTopic(topic=self._topic, partitions=[wanted])
        request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1_048_576, session_epoch=-1, topics=[topic])
        (partition,) = self._timed(request, 12).responses[0].partitions
        self._expect(partition.error_code == ErrorCode.NONE and bool(partition.records), partition)
        (record,) = _records(partition.records)
        self._expect((record.offset, record.value) == (self._offset, value), record)

    def _timed(self, request: Message, version: int) -> Any:
        started = time.perf_counter()
        answer = self._connection.ask(request, version)
        self.latencies_s.append(time.perf_counter() - started)
        return answer

    def _expect(self, is_right: bool, answer: object) -> None:
        if not is_right:
            raise AssertionError(f"the good client was answered wrongly at offset {self._offset}: {answer}")
        with self._progress:
            self.served += 1
            self._progress.notify_all()


def _records(data: bytes | memoryview) -> list[Record]:
    return list(read_records(batch_at(data)))
