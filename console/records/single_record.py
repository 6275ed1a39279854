"""One record with all its bytes."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...client.asynchronous.cluster import AsyncCluster
from ...client.fetching.fetches import MAX_PLAIN_BYTES, Fetched, fetch_request, fetched_in
from ...protocol.errors import ErrorCode, error_for
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import Record, read_records
from ..http.replies import HttpProblem


class Single(NamedTuple):
    """A record and its batch."""

    batch: RecordBatch
    record: Record


async def single_record(cluster: AsyncCluster, at: TopicPartition, offset: int) -> Single:
    """Raises HttpProblem when there is no such record."""
    leader = await cluster.leader(at)
    request = fetch_request({at: offset}, partition_bytes=1, max_bytes=1)
    (fetched,) = fetched_in(await cluster.ask_broker(leader, request))
    if fetched.error_code:
        raise error_for(fetched.error_code, f"{at} has no offset {offset}: {ErrorCode(fetched.error_code).name}")
    found = await asyncio.to_thread(_find, fetched, offset)
    if found is None:
        raise HttpProblem(404, f"{at} has no record with offset {offset}")
    return found


def _find(fetched: Fetched, offset: int) -> Single | None:
    for batch in fetched.batches():
        for record in read_records(batch, MAX_PLAIN_BYTES):
            if record.offset == offset:
                return Single(batch, record)
    return None
