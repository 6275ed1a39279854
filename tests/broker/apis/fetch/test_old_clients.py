"""Fetch for old clients: conversions to old formats, codecs and error codes of old versions."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from errno import EIO
from pathlib import Path

import pytest
from pybroker.broker.network.request import ConnectionInfo
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import (
    FetchResponse,
)
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.storage.files.files import FileRegion
from pybroker.storage.workers.long_work_queue import LongWorkSource
from support.in_process.fetching_consumer import BIG, LATEST_VERSION, Consumer, next_turn, received
from support.in_process.replicas import TOPIC, TP, Replicas, request_context, values_in


class Queue:
    """Conversions that wait for their turn in the pool."""

    def __init__(self, consumer: Consumer) -> None:
        self.waiting: list[tuple[Callable[[], FetchResponse], LongWorkSource, asyncio.Future[FetchResponse]]] = []
        consumer.handler._run_in_pool = self._put

    def _put(self, convert: Callable[[], FetchResponse], source: LongWorkSource) -> "asyncio.Future[FetchResponse]":
        future: asyncio.Future[FetchResponse] = asyncio.get_running_loop().create_future()
        self.waiting.append((convert, source, future))
        return future

    def run(self) -> FetchResponse:
        """The response of the only conversion that waits."""
        ((convert, _, _),) = self.waiting
        return convert()


@pytest.mark.parametrize("waits_for_records", [False, True])
@pytest.mark.parametrize("has_gone", [False, True])
async def test_no_records_are_converted_for_a_closed_connection(
    consumer: Consumer, waits_for_records: bool, has_gone: bool
) -> None:
    queue = Queue(consumer)
    if not waits_for_records:
        consumer.produce(b"a")
    answer = asyncio.ensure_future(consumer.send(0, version=3, max_wait_ms=60_000))  # type: ignore[call-overload]
    abandon = consumer.context.abandon
    if waits_for_records:
        consumer.context.abandon = None  # the connection has taken it over
        consumer.produce(b"a")
        await next_turn()
    assert not answer.done()
    if has_gone:
        assert abandon is not None
        abandon()
    ((data,),) = [topic.partitions for topic in queue.run().responses]
    assert isinstance(data.records, FileRegion) == has_gone
    answer.cancel()


async def test_conversions_take_turns_by_connection(consumer: Consumer) -> None:
    queue = Queue(consumer)
    consumer.produce(b"a")
    mine = request_context(3)
    other = replace(mine, address=ConnectionInfo("TEST", "PLAINTEXT", ("here", 9092), ("there", 1)))
    for context in (mine, mine, other):
        consumer.send(0, version=3, context=context)
    sources = [source for _, source, _ in queue.waiting]
    assert sources[0] is sources[1] is not sources[2]


async def test_small_conversions_are_estimated_cheaper_from_the_first_one_on(
    consumer: Consumer,
) -> None:
    queue = Queue(consumer)
    size = consumer.produce(b"a" * 100)
    consumer.produce(b"a" * 100_000)
    for partition_max_bytes in (size, BIG):
        address = ConnectionInfo("TEST", "PLAINTEXT", ("here", 9092), ("there", 1))
        context = replace(request_context(3), address=address)
        consumer.send(0, version=3, partition_max_bytes=partition_max_bytes, context=context)
    (little, much) = [source.expected_s for _, source, _ in queue.waiting]
    assert 0 < little < much / 100


@pytest.mark.parametrize(
    ("version", "expected"), [(5, ErrorCode.NOT_LEADER_OR_FOLLOWER), (6, ErrorCode.KAFKA_STORAGE_ERROR)]
)
async def test_old_clients_get_another_code_for_a_storage_error(
    consumer: Consumer, version: int, expected: ErrorCode
) -> None:
    consumer.replicas.changes.directory_failed("somewhere", [TP])
    assert consumer.partition(0, version=version).error_code == expected


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_a_zstd_topic_needs_v10(tmp_path: Path, version: int) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"compression.type": "zstd"}})
    await replicas.order()
    consumer = Consumer(replicas)
    consumer.produce(b"a" * 100, codec=Codec.ZSTD)
    data = consumer.partition(0, version=version)
    if version < 10:
        assert data.error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert data.records is None
        assert data.aborted_transactions == []
        assert data.high_watermark == -1
    else:
        assert values_in(data.records) == [b"a" * 100]
    replicas.close()


@pytest.mark.parametrize("version", [0, 1, 2, 3])
async def test_zstd_batches_cannot_be_converted_for_old_clients(consumer: Consumer, version: int) -> None:
    consumer.produce(b"a" * 100, codec=Codec.ZSTD)
    assert consumer.partition(0, version=version).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


@pytest.mark.parametrize("version", [3, 4])
async def test_down_conversion_can_be_switched_off(tmp_path: Path, version: int) -> None:
    replicas = Replicas(tmp_path, topics={TOPIC: {"message.downconversion.enable": "false"}})
    await replicas.order()
    consumer = Consumer(replicas)
    consumer.produce(b"a")
    expected = ErrorCode.UNSUPPORTED_VERSION if version == 3 else ErrorCode.NONE
    assert consumer.partition(0, version=version).error_code == expected
    replicas.close()


async def test_a_big_conversion_goes_to_the_worker_pool(consumer: Consumer) -> None:
    for _ in range(4):
        consumer.produce(b"x" * 10_000)
    answer = consumer.send(0, version=3)
    assert not isinstance(answer, FetchResponse)
    data = received(await answer, 3).responses[0].partitions[0]  # type: ignore[misc]
    assert len(list(iter_batches(bytes(data.records or b"")))) == 4  # type: ignore[arg-type]


async def test_read_error_during_conversion_fails_only_its_partition(
    consumer: Consumer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(region: FileRegion) -> bytes:
        raise OSError(EIO, "Input/output error")

    consumer.produce(b"a")
    monkeypatch.setattr(FileRegion, "read", fail)
    assert consumer.partition(0, version=3).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert caplog.messages == [
        "Fetch: records cannot be read for conversion to an old format: [Errno 5] Input/output error"
    ]


async def test_fetch_of_an_old_client_waits_for_records(consumer: Consumer) -> None:
    answer = consumer.send(0, version=2, max_wait_ms=60_000)
    assert isinstance(answer, Awaitable)
    task = asyncio.ensure_future(answer)
    await asyncio.sleep(0)
    assert not task.done()
    consumer.produce(b"a")
    data = received(await task, 2).responses[0].partitions[0]
    assert next(iter_batches(bytes(data.records or b""))).magic == 1  # type: ignore[arg-type]
