"""Reads batches from many partitions, each from an offset to an end or on and on.

**How.** Each leader has one request under way. The next one is sent before the batches of the last are handed out, so
that the broker works while the caller does. A partition whose leader changes or fails is asked again a moment later at
the new one; the other partitions are read meanwhile.

**Limits.** Memory: one response of `FETCH_BYTES` for each leader, or one batch if that is larger.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.records.batch import RecordBatch
from ...protocol.sentinels import EARLIEST, LATEST
from ..admin_cluster import AdminCluster
from ..client_settings import READ_COMMITTED
from ..cluster import is_retriable
from ..connection import Connection
from .fetches import Fetched, fetch_request, fetched_in
from .transaction_filter import TransactionFilter

__all__ = ["NO_END", "Batches", "PartitionReader"]

NO_END = (1 << 63) - 1
"""As the end of a partition: read on and on."""
FETCH_BYTES = 8 << 20
PARTITION_BYTES = 4 << 20
_WAIT_MS = 500
_WAIT_BESIDE_OTHERS_MS = 50
"""How long a leader may hold a request back when others are to be asked too."""
_SETTLE_S = 5.0
"""For so long the end of a partition may lie behind the offset that was its end: a new leader catches up."""


@frozen
class Batches:
    """Batches of a partition, without control batches and aborted ones. Records outside `start`…`end` do not count."""

    at: TopicPartition
    batches: list[RecordBatch]
    start: int
    end: int


class PartitionReader:
    """Reads from `starts`; a partition is done at its end. `tell` gets a line about records that no longer exist.

    Attributes:
        positions: the offset behind what was read, for each partition that is not done.
    """

    def __init__(
        self,
        cluster: AdminCluster,
        starts: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, int],
        tell: Callable[[str], None],
        retry_s: float = 60.0,
    ) -> None:
        self._cluster = cluster
        self._ends = dict(ends)
        self._tell = tell
        self._retry_s = retry_s
        self._is_committed = cluster.settings.isolation_level == READ_COMMITTED
        self._asked: dict[Connection, tuple[TopicPartition, ...]] = {}
        self._progress = time.monotonic()
        self._failing_since: dict[TopicPartition, float] = {}
        self._resting: set[TopicPartition] = set()
        self._rest_ends = 0.0
        self.positions = {at: start for at, start in starts.items() if start < self._ends[at]}

    @property
    def left(self) -> int | None:
        """Offsets up to the ends of all partitions; None when one is read on and on."""
        ends = [self._ends[at] for at in self.positions]
        return None if NO_END in ends else sum(ends) - sum(self.positions.values())

    def batches(self) -> Iterator[Batches]:
        """Yields what arrives, until all partitions are done. Raises KafkaError, ConnectionError."""
        while self.positions:
            yield from self.poll()

    def poll(self) -> list[Batches]:
        """The next response of each leader, which may be empty. Raises KafkaError, ConnectionError."""
        self._ask()
        if not self._asked and self._resting:
            time.sleep(max(0.0, self._rest_ends - time.monotonic()))
            self._ask()
        found: list[Batches] = []
        for connection, partitions in list(self._asked.items()):
            del self._asked[connection]
            try:
                answer = connection.receive()
            except ConnectionError as error:
                self._failed(partitions, error)
                continue
            if answer.error_code:
                raise error_for(answer.error_code)
            for fetched in fetched_in(answer):
                found += self._taken(fetched)
            self._ask()
        return found

    def _ask(self) -> None:
        """Send a request to each leader that has none."""
        if self._resting and time.monotonic() >= self._rest_ends:
            self._resting.clear()
        busy = {at for partitions in self._asked.values() for at in partitions} | self._resting
        free: dict[Connection, dict[TopicPartition, int]] = defaultdict(dict)
        leaders = set(self._asked)
        for at, position in self.positions.items():
            if at in busy:
                continue
            try:
                connection = self._cluster.leader_connection(at)
            except (ConnectionError, KafkaError) as error:
                self._failed((at,), error)
                continue
            leaders.add(connection)
            if connection not in self._asked:
                free[connection][at] = position
        for connection, positions in free.items():
            request = fetch_request(
                positions,
                partition_bytes=PARTITION_BYTES,
                max_bytes=FETCH_BYTES,
                wait_ms=_WAIT_MS if len(leaders) == 1 else _WAIT_BESIDE_OTHERS_MS,
                isolation_level=self._cluster.settings.isolation_level,
            )
            try:
                connection.send(request)
            except ConnectionError as error:
                connection.close()
                self._failed(positions, error)
                continue
            self._asked[connection] = tuple(positions)

    def _taken(self, fetched: Fetched) -> list[Batches]:
        at = fetched.at
        position = self.positions.get(at)
        if position is None:
            return []
        if fetched.error_code:
            error = error_for(fetched.error_code, f"{at}: {error_for(fetched.error_code)}")
            if fetched.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                self._skip(at, position)
            else:
                self._failed((at,), error)
            return []
        self._failing_since.pop(at, None)
        end = self._ends[at]
        # The last batch may be cut off; the first may begin before the position.
        batches = [batch for batch in fetched.batches() if batch.last_offset >= position]
        if not batches:
            self._wait_for_end(fetched, position)
            return []
        self._progress = time.monotonic()
        del self.positions[at]  # set again it stands last, so that a full response starves no partition
        if batches[-1].next_offset < end:
            self.positions[at] = batches[-1].next_offset
        hidden = TransactionFilter(fetched.aborted)
        kept = [
            batch
            for batch in batches
            if not (self._is_committed and hidden.hides(batch))
            and not batch.is_control
            and (batch.base_offset < end or batch.magic < 2)
        ]
        return [Batches(at, kept, position, end)]

    def _wait_for_end(self, fetched: Fetched, position: int) -> None:
        """After an empty response: give up an end that the partition does not have any more."""
        at, end = fetched.at, self._ends[fetched.at]
        there = fetched.last_stable_offset if self._is_committed else fetched.high_watermark
        if end != NO_END and there <= position and time.monotonic() - self._progress > _SETTLE_S:
            self._tell(f"{at}: the partition ends at {there} now, so nothing up to {end} can be read")
            del self.positions[at]

    def _skip(self, at: TopicPartition, position: int) -> None:
        start, last = self._cluster.offsets({at: EARLIEST})[at], self._cluster.offsets({at: LATEST})[at]
        resumed = self.resumed_at(position, start, last)
        self._tell(f"{at}: offset {position} does not exist; reading goes on at {resumed}")
        del self.positions[at]
        if resumed < self._ends[at]:
            self.positions[at] = resumed

    def resumed_at(self, position: int, start: int, last: int) -> int:
        """Where reading goes on after an offset that does not exist. ``start`` and ``last``: the range of the log."""
        return start if position < start else last

    def _failed(self, partitions: Iterable[TopicPartition], error: ConnectionError | KafkaError) -> None:
        """Let partitions rest before they are asked again. Raises the error if that has not helped for long."""
        now = time.monotonic()
        for at in partitions:
            if not is_retriable(error) or now - self._failing_since.setdefault(at, now) > self._retry_s:
                raise error
            self._cluster.forget_leader(at)
            self._resting.add(at)
        self._rest_ends = now + self._cluster.settings.retry_backoff_ms / 1000
