"""Tests that batches are appended to a partition of a real broker once, at every connection break and beside
writers.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import read_records
from support.clients.produced import START_MS, Produced, numbered, produce
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.spark.gathered_rows import need_columns

need_columns()

from pybroker.client.connection import Connection  # noqa: E402
from pybroker.client.target_cluster import TargetCluster  # noqa: E402
from pybroker.pipeline.appending.partition_append import AppendError, PartitionAppend  # noqa: E402
from pybroker.pipeline.appending.sequenced_batches import (  # noqa: E402
    BatchGatherer,
    OrderError,
    ProducerIdentity,
    Run,
    SequencedBatch,
)
from pybroker.pipeline.appending.written_batches import WrittenBatch, WrittenBatches  # noqa: E402
from pybroker.pipeline.options.kafka_settings import ReaderSettings, reader_settings  # noqa: E402

ROWS_A_BATCH = 3
NOW_MS = int(time.time() * 1000)
"""Current timestamps, because a broker forgets producers of old records and would accept their repeated rows."""
RETRY_TIMEOUT_MS = 120_000


class Log:
    """One partition of a real broker and its writers."""

    def __init__(self, servers: str, topic: str) -> None:
        self.servers = servers
        self.at = TopicPartition(topic, 0)
        self.settings: ReaderSettings = reader_settings({"bootstrap.servers": servers, "retry.backoff.ms": "1"})
        create_topic(servers, topic, 1)
        with TargetCluster(self.settings) as cluster:
            self.identity = ProducerIdentity(cluster.new_producer_id(), 0)
        self.said: list[tuple[int, int]] = []

    def appender(self, start_offset: int = 0, retry_timeout_ms: int = RETRY_TIMEOUT_MS) -> PartitionAppend:
        return PartitionAppend(self.settings, self.at, self.identity, start_offset, self._appended, retry_timeout_ms)

    def _appended(self, batch: SequencedBatch, offset: int) -> None:
        self.said.append((batch.first_sequence, offset))

    def written(self) -> WrittenBatches:
        return WrittenBatches(self.settings, self.at, self.identity, RETRY_TIMEOUT_MS)

    def end(self) -> int:
        with TargetCluster(self.settings) as cluster:
            return self.written().settled_end(cluster)

    def last(self) -> WrittenBatch | None:
        return self.written().last(0, self.end())

    def values(self) -> list[bytes | None]:
        """Returns the values of this job's records."""
        batches = self.written().record_batches(0, self.end())
        return [record.value for batch in batches for record in read_records(batch)]


@pytest.fixture
def log(servers: str, topic: str) -> Log:
    return Log(servers, topic)


def batches_of(
    identity: ProducerIdentity, rows: int, first: int = 0, time_ms: int = NOW_MS, **how: int
) -> Iterator[SequencedBatch]:
    settings = {"batch_bytes": 1 << 20, "batch_rows": ROWS_A_BATCH, **how}
    gatherer = BatchGatherer(identity, first, codec=Codec.NONE, **settings)
    for number in range(first, rows):
        full = gatherer.add(number, time_ms + number, b"k", b"v%d" % number, ())
        if full is not None:
            yield full
    if (rest := gatherer.rest()) is not None:
        yield rest


def values(rows: int) -> list[bytes]:
    return [b"v%d" % number for number in range(rows)]


def append_all(log: Log, rows: int, appender: PartitionAppend | None = None, first: int = 0) -> None:
    appender = log.appender() if appender is None else appender
    for batch in batches_of(log.identity, rows, first):
        appender.send(batch)
    appender.wait()
    appender.close()


def test_batches_are_limited_by_rows_and_bytes_and_number_their_rows() -> None:
    gatherer = BatchGatherer(ProducerIdentity(7, 2), 5, codec=Codec.LZ4, batch_bytes=400, batch_rows=4)
    sizes = [10, 10, 10, 10, 10, 1000, 100, 100, 100]
    offsets = [0, 1, 2, 5, 6, 7, 8, 20, 21]
    found = []
    for offset, size in zip(offsets, sizes, strict=True):
        full = gatherer.add(offset, START_MS + offset, None, bytes(size), (("h", None),))
        found += [full] if full is not None else []
    found += [rest] if (rest := gatherer.rest()) is not None else []
    assert gatherer.rest() is None
    assert [(each.first_sequence, each.rows) for each in found] == [(5, 4), (9, 1), (10, 1), (11, 2), (13, 1)]
    assert [each.runs for each in found] == [
        (Run(0, 3), Run(5, 1)),
        (Run(6, 1),),
        (Run(7, 1),),
        (Run(8, 1), Run(20, 1)),
        (Run(21, 1),),
    ]
    for each in found:
        (batch,) = iter_batches(each.data)
        assert (batch.producer_id, batch.producer_epoch) == (7, 2)
        assert (batch.base_sequence, batch.last_sequence) == (each.first_sequence, each.last_sequence)
        assert batch.is_valid_crc()
    with pytest.raises(OrderError, match="offset 21 follows offset 21"):
        gatherer.add(21, START_MS, None, None, ())


def test_sent_batches_are_in_the_log_in_order(log: Log) -> None:
    append_all(log, 10)
    assert log.values() == values(10)
    assert log.said == [(0, 0), (3, 3), (6, 6), (9, 9)]
    assert log.last() == WrittenBatch(9, 9, 9)


def test_last_batch_is_found_among_batches_of_other_producers(log: Log) -> None:
    assert log.last() is None
    append_all(log, 7)
    expected = WrittenBatch(6, 6, 6)
    for number in range(3):
        produce(log.servers, numbered(log.at.topic, [0], 40 * number + 1))
        assert log.last() == expected
    assert log.written().last(7, log.end()) is None


class Cuts:
    """Breaks a connection before or after its n-th request for a partition, or during the response."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at = -1
        self._send, self._receive = Connection.send, Connection.receive
        monkeypatch.setattr(Connection, "send", self._cut_around(self._send))
        monkeypatch.setattr(Connection, "receive", self._cut_around(self._receive))

    def _cut_around(self, step: Callable[..., object]) -> Callable[..., object]:
        def cut(connection: Connection, *arguments: object) -> object:
            self._count(connection)
            result = step(connection, *arguments)
            self._count(connection)
            return result

        return cut

    def _count(self, connection: Connection) -> None:
        self.count += 1
        if self.count == self.at:
            connection.close()
            raise ConnectionError("cut")


def test_each_row_is_written_once_wherever_the_connection_breaks(
    servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Breaks each step of all connections in turn, including searches of the log."""
    cuts = Cuts(monkeypatch)
    whole = Log(servers, f"{topic}-whole")
    cuts.count = 0
    append_all(whole, 7)
    steps = cuts.count
    assert steps > 10
    for step in range(1, steps + 3):
        log = Log(servers, f"{topic}-{step}")
        cuts.count, cuts.at = 0, step
        append_all(log, 7)
        cuts.at = -1
        assert log.values() == values(7), step
        assert log.said == [(0, 0), (3, 3), (6, 6)], step


def test_next_writer_continues_after_a_writer_stops_at_any_step(
    servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like a killed task: its request in flight may still arrive."""
    cuts = Cuts(monkeypatch)

    class Killed(BaseException):
        pass

    for step in range(1, 40):
        log = Log(servers, f"{topic}-{step}")

        def kill(connection: Connection, step: int = step) -> None:
            cuts.count += 1
            if cuts.count == step:
                raise Killed

        cuts.count = 0
        appender = log.appender()
        with monkeypatch.context() as patch:
            patch.setattr(cuts, "_count", kill)
            try:
                append_all(log, 7, appender)
            except Killed:
                pass
            else:
                break
        last = log.last()
        first = 0 if last is None else last.last_sequence + 1
        append_all(log, 7, log.appender(0 if last is None else last.next_offset), first)
        appender.close()
        assert log.values() == values(7), step
    else:
        pytest.fail("no run without a kill")
    assert step > 10


def test_two_writers_of_the_same_rows_write_each_row_once(log: Log) -> None:
    """A task that Spark gave up and its successor run at the same time for a while."""
    one, other = log.appender(), log.appender()
    for batch in batches_of(log.identity, 12):
        one.send(batch)
        other.send(batch)
    one.wait()
    other.wait()
    assert log.values() == values(12)
    assert log.said.count((9, 9)) == 2
    for each in (one, other):
        each.close()


def test_late_writer_with_other_batches_of_the_same_rows_gives_up(log: Log) -> None:
    append_all(log, 7)
    late = log.appender()
    (first, *_) = batches_of(log.identity, 2)
    late.send(first)
    with pytest.raises(AppendError, match="rows 0 to 2 were written by another run of the same job"):
        late.wait()
    late.close()
    assert log.values() == values(7)


def test_each_row_is_written_once_when_the_broker_is_killed(tmp_path: Path, topic: str) -> None:
    """The broker forgets its producers, because the records are older than producer.id.expiration.ms."""
    with BrokerProcess(tmp_path, {"log.retention.ms": "-1"}) as broker:
        log = Log(broker.bootstrap_servers, topic)
        appender = log.appender()
        for number, batch in enumerate(batches_of(log.identity, 30, time_ms=START_MS)):
            appender.send(batch)
            if number in (2, 5):
                broker.kill()
                broker.start()
            if number == 8:
                assert broker.stop() == 0
                broker.start()
        appender.wait()
        appender.close()
        assert log.values() == values(30)


def test_permanent_refusal_by_the_broker_is_raised(servers: str, topic: str) -> None:
    log = Log(servers, topic)
    create_topic(servers, f"{topic}-small", 1, {"max.message.bytes": "200"})
    log.at = TopicPartition(f"{topic}-small", 0)
    appender = log.appender()
    (batch,) = batches_of(log.identity, 30, batch_rows=30)
    appender.send(batch)
    with pytest.raises(AppendError, match=f"{topic}-small-0: .*larger|too large|bytes"):
        appender.wait()
    appender.close()


def test_new_producer_epoch_fences_the_previous_one(log: Log) -> None:
    append_all(log, 4)
    stale = log.appender()
    log.identity = log.identity._replace(epoch=1)
    append_all(log, 2, log.appender(4))
    assert log.values() == values(2)
    (late, *_) = batches_of(log.identity._replace(epoch=0), 5, first=4)
    stale.send(late)
    with pytest.raises(AppendError, match="epoch"):
        stale.wait()
    stale.close()


def test_topics_are_created_and_grown_once(servers: str, topic: str) -> None:
    with TargetCluster(reader_settings({"bootstrap.servers": servers})) as cluster:
        cluster.make_partitions({topic: 2, f"{topic}-b": 1})
        cluster.make_partitions({topic: 3, f"{topic}-b": 1})
        cluster.make_partitions({topic: 2})
        assert [at.partition for at in cluster.partitions([topic])] == [0, 1, 2]
        assert cluster.topic_settings([topic])[topic]["cleanup.policy"] == "delete"
        assert cluster.cluster_id()


def test_records_of_other_producers_are_ignored(log: Log) -> None:
    produce(log.servers, [Produced(log.at.topic, 0, -1, START_MS, None, b"not ours")])
    append_all(log, 2, log.appender(1))
    assert log.values() == values(2)
