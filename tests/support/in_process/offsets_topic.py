"""A `__consumer_offsets` in memory, called synchronously or awaited, whose writes happen at once, later or never."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

from pybroker.broker.coordinator.internal_log import AppendDone, AppendOutcome, InternalAppend
from pybroker.protocol.errors import ErrorCode, KafkaError, RecordTooLargeError
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import Record, read_records
from support.record_bytes import set_base_offset


class OffsetsTopic:
    """A `RecordSink`. `hold()` keeps appends until `release()`; `refuse(error)` fails them until `refuse(None)`."""

    def __init__(self, partition_count: int = 4) -> None:
        self.partition_count = partition_count
        self.batches: list[list[bytes]] = [[] for _ in range(partition_count)]
        self._next_offsets = [0] * partition_count
        self._error: KafkaError | None = None
        self._held: list[Callable[[], None]] | None = None

    def append(self, append: InternalAppend, done: AppendDone) -> None:
        if self._held is None:
            done(self._write(append.partition, append.records))
        else:
            self._held.append(lambda: done(self._write(append.partition, append.records)))

    def write(self, partition: int, records: bytes) -> int:
        """Write a batch; returns its base offset."""
        buffer = bytearray(records)
        base_offset = self._next_offsets[partition]
        set_base_offset(buffer, 0, base_offset)
        (batch,) = iter_batches(buffer)
        self._next_offsets[partition] = batch.next_offset
        self.batches[partition].append(bytes(buffer))
        return base_offset

    def grow(self, partition_count: int) -> None:
        """Spread groups over this many partitions from now on."""
        more = partition_count - self.partition_count
        self.partition_count = partition_count
        self.batches += [[] for _ in range(more)]
        self._next_offsets += [0] * more

    def hold(self) -> None:
        self._held = []

    def release(self) -> None:
        held, self._held = self._held or [], None
        for write in held:
            write()

    @property
    def held_count(self) -> int:
        return len(self._held or [])

    def refuse(self, error: KafkaError | None) -> None:
        self._error = error

    def records(self) -> list[Record]:
        """All records, one partition after another."""
        return [
            record
            for partition in self.batches
            for buffer in partition
            for batch in iter_batches(buffer)
            for record in read_records(batch)
        ]

    def _write(self, partition: int, records: bytes) -> AppendOutcome:
        return self.write(partition, records) if self._error is None else self._error


class AwaitedOffsetsTopic:
    """An `InternalLog` over an `OffsetsTopic`. Readers stop before each batch while `gate` is cleared. Appends are
    written at once, but not acknowledged while `replicas` is cleared. Loads do not end while `commits` is cleared.
    """

    topic = "__consumer_offsets"

    def __init__(self, store: OffsetsTopic) -> None:
        self.store = store
        self.gate = asyncio.Event()
        self.gate.set()
        self.replicas = asyncio.Event()
        self.replicas.set()
        self.commits = asyncio.Event()
        self.commits.set()
        self.read_error: Exception | None = None
        self.reading: set[int] = set()
        self.were_read: set[int] = set()
        self.append_error: Exception | None = None
        self.refuses_at_once = False
        """Whether an append that fails has failed before `append` returns."""
        self.known_refusal = ErrorCode.NONE
        """The code of `refusal`, by which the log says beforehand that it would refuse a batch."""
        self.uncommitted_loads: set[int] = set()
        """Partitions of which not all is committed that was read."""
        self.led: set[int] | None = None
        self.max_message_bytes = 1 << 20

    @property
    def partition_count(self) -> int:
        return self.store.partition_count

    def max_batch_bytes(self, partition: int) -> int:
        return self.max_message_bytes

    def refusal(self, partition: int) -> ErrorCode:
        return self.known_refusal

    def is_load_committed(self, partition: int) -> bool:
        return partition not in self.uncommitted_loads

    def is_leader(self, partition: int) -> bool:
        return self.led is None or partition in self.led

    def append(self, append: InternalAppend) -> Awaitable[int]:
        if self.append_error is not None and self.refuses_at_once:
            refused: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            refused.set_exception(self.append_error)
            return refused
        return self._append(append)

    async def _append(self, append: InternalAppend) -> int:
        try:
            append.chain.check()
            if self.append_error is not None:
                raise self.append_error
            if len(append.records) > self.max_message_bytes:
                raise RecordTooLargeError()
            base_offset = self.store.write(append.partition, append.records)
        except KafkaError:
            append.chain.break_off()
            raise
        if append.awaits_replicas:
            await self.replicas.wait()
        return base_offset

    async def before_load(self) -> None:
        pass

    async def after_load(self, partition: int) -> None:
        await self.commits.wait()

    async def read(self, partition: int) -> AsyncIterator[memoryview]:
        error = self.read_error
        self.reading.add(partition)
        for buffer in self.store.batches[partition]:  # also records appended meanwhile
            await self.gate.wait()
            yield memoryview(buffer)
        self.reading.discard(partition)
        self.were_read.add(partition)
        if error is not None:
            raise error
