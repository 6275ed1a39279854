"""Tests of a partition's state as a parked fetch sees it."""

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest
from pybroker.replication.partition.fetch import PartitionFetch
from pybroker.replication.partition.reader import available_bytes, sent_on
from support.in_process.replicas import TOPIC_ID, TP, Replicas, batch_of, consumer


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield replicas
    replicas.close()


def available(replicas: Replicas) -> int | None:
    """The available bytes for a parked fetch that has read the first record."""
    fetch = PartitionFetch(("t", 0), TP, 1, 1 << 20, topic_id=TOPIC_ID)
    return available_bytes(replicas.hosted(), fetch, consumer(min_bytes=1 << 16))


async def test_available_bytes_of_a_parked_fetch_start_at_its_offset(replicas: Replicas) -> None:
    replicas.append(batch_of(b"a"))
    assert available(replicas) == 0
    replicas.append(batch_of(b"b"))
    assert available(replicas) == len(batch_of(b"b"))


async def test_a_fetch_does_not_wait_for_a_log_whose_directory_has_failed(replicas: Replicas) -> None:
    """The read error does not reach the caller that moved the high watermark; the partition is notified later."""
    for value in (b"a", b"b"):
        replicas.append(batch_of(value))
    replicas.hosted().log.files.is_offline = True
    assert available(replicas) is None


@pytest.mark.parametrize(("topic_id", "is_sent_on"), [(TOPIC_ID, True), (None, True), (UUID(int=8), False)])
async def test_consumer_with_another_topic_id_gets_no_preferred_replica(
    replicas: Replicas, topic_id: UUID | None, is_sent_on: bool
) -> None:
    fetch = PartitionFetch(("t", 0), TP, 0, 1 << 20, topic_id=topic_id)
    answer = sent_on(replicas.hosted(), fetch, lambda partition, offset, now_ms: 2, 0)
    assert (answer is not None) is is_sent_on
