"""The helpers of a broker for a cluster outside this process, by Kafka's protocol.

Inside a broker the helpers wait for its events. A cluster outside tells no events, so these ask again until it is so.
"""

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from ..base.topic_partition import TopicPartition
from ..broker.faults.words import partition_word, seconds, text_word, whole_number
from ..broker.library.inspection.appending import placed_records, records_of
from ..broker.library.inspection.record_parts import headers_of
from ..broker.library.inspection.stored_record import StoredRecord
from ..cli.groups.described_groups import described_group
from ..cli.groups.partition_offsets import ends_of
from ..client.admin_cluster import AdminCluster
from ..client.committed_offsets import committed_offsets
from ..client.fetching.partition_reader import PartitionReader
from ..protocol.records.record import read_records
from ..protocol.sentinels import EARLIEST, LATEST
from .outside_appending import append_outside, create_as_for_a_producer, partitions_outside
from .outside_topics import open_outside

__all__ = ["OutsideHelpers"]

Found = TypeVar("Found")

_PAUSE_S = 0.05
_STABLE = "Stable"


class OutsideHelpers:
    """As the methods of `Inspection` with these names. They block; they raise KafkaError and OSError too."""

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of brokers."""
        raise NotImplementedError

    def topics(self) -> list[str]:
        """The names of all topics that are not internal."""
        with open_outside(self.bootstrap_servers) as cluster:
            return [name for name in cluster.topic_names() if not name.startswith("__")]

    def records(self, topic: str, partition: int | None = None, *, committed_only: bool = True) -> list[StoredRecord]:
        """Read all records of a topic, by partition and offset. Raises LookupError without such a topic."""
        text_word(topic, "topic")
        partition_word(partition)
        with open_outside(self.bootstrap_servers, committed_only=committed_only) as cluster:
            return _records(cluster, partitions_outside(cluster, topic, partition))

    def append(
        self,
        topic: str,
        *values: bytes | str | None,
        key: bytes | str | None = None,
        partition: int | None = None,
        headers: Iterable[tuple[str, bytes | None]] = (),
        timestamp_ms: int | None = None,
    ) -> list[StoredRecord]:
        """Append records as `Inspection.append`; a missing topic is created if the cluster does that for a producer."""
        text_word(topic, "topic")
        partition_word(partition)
        now_ms = self._now_ms() if timestamp_ms is None else timestamp_ms
        records = records_of(values, now_ms, key=key, headers=headers_of(headers))
        with open_outside(self.bootstrap_servers) as cluster:
            create_as_for_a_producer(cluster, topic)
            count = len(partitions_outside(cluster, topic, None))
            placed = placed_records(records, partition, count)
            return append_outside(cluster, topic, placed)

    def wait_records(
        self, topic: str, count: int, *, timeout: float = 10.0, committed_only: bool = True
    ) -> list[StoredRecord]:
        """Return the topic's records once there are ``count`` or more. Raises TimeoutError."""
        text_word(topic, "topic")
        whole_number(count, "count", 0)
        limit_s = seconds(timeout, "timeout")

        def found(cluster: AdminCluster) -> list[StoredRecord] | None:
            partitions = cluster.partitions([topic])
            records = _records(cluster, partitions)
            return records if partitions and len(records) >= count else None

        what = f"topic {topic!r} has not {count} records"
        return self._until(found, what, limit_s, committed_only=committed_only)

    def wait_assigned(self, group: str, members: int = 1, *, timeout: float = 10.0) -> None:
        """Wait until the group is stable with so many members or more, which have partitions. Raises TimeoutError."""
        text_word(group, "group", may_be_empty=True)
        whole_number(members, "members", 0)
        limit_s = seconds(timeout, "timeout")

        def is_assigned(cluster: AdminCluster) -> bool:
            found = described_group(cluster, group)
            has_partitions = any(each.partitions for member in found.members for each in member.assignment or ())
            return found.state == _STABLE and len(found.members) >= members and has_partitions

        self._until(is_assigned, f"group {group!r} has not assigned partitions to {members} members", limit_s)

    def wait_committed(self, group: str, topic: str, partition: int, offset: int, *, timeout: float = 10.0) -> None:
        """Wait until the group has committed this offset of a partition, or a later one. Raises TimeoutError."""
        text_word(group, "group", may_be_empty=True)
        text_word(topic, "topic")
        limit_s = seconds(timeout, "timeout")
        at = TopicPartition(topic, partition)

        def is_committed(cluster: AdminCluster) -> bool:
            committed = committed_offsets(cluster, group).get(at)
            return committed is not None and committed.offset >= offset

        self._until(is_committed, f"group {group!r} has not committed offset {offset} of {at}", limit_s)

    def lag(self, group: str, topic: str | None = None) -> int:
        """How many records the group has not read, as `Inspection.lag`. Raises LookupError."""
        text_word(group, "group", may_be_empty=True)
        with open_outside(self.bootstrap_servers) as cluster:
            committed = committed_offsets(cluster, group)
            wanted = [at for at in committed if topic is None or at.topic == topic]
            known = [
                max(0, ends.end - max(committed[at].offset, ends.start))
                for at, ends in ends_of(cluster, wanted).items()
                if ends.start is not None and ends.end is not None
            ]
        if not known:
            where = "" if topic is None else f" for topic {topic!r}"
            raise LookupError(f"group {group!r} has committed no offsets{where}")
        return sum(known)

    def _now_ms(self) -> int:
        """The time of new records."""
        return time.time_ns() // 1_000_000

    def _until(
        self, ask: Callable[[AdminCluster], Found | None], what: str, limit_s: float, *, committed_only: bool = False
    ) -> Found:
        """The first result of ``ask`` that is not None or False. Raises TimeoutError."""
        began = time.monotonic()
        with open_outside(self.bootstrap_servers, committed_only=committed_only) as cluster:
            while True:
                found = ask(cluster)
                if found is not None and found is not False:
                    return found
                if time.monotonic() - began > limit_s:
                    raise TimeoutError(f"{what} within {limit_s:g} s")
                time.sleep(_PAUSE_S)


def _records(cluster: AdminCluster, partitions: list[TopicPartition]) -> list[StoredRecord]:
    starts = cluster.offsets(dict.fromkeys(partitions, EARLIEST))
    ends = cluster.offsets(dict.fromkeys(partitions, LATEST))
    found = [
        StoredRecord(*read.at, each.offset, each.timestamp_ms, each.key, each.value, each.headers)
        for read in PartitionReader(cluster, starts, ends, lambda _line: None).batches()
        for batch in read.batches
        for each in read_records(batch)
        if read.start <= each.offset < read.end
    ]
    return sorted(found, key=lambda each: (each.partition, each.offset))
