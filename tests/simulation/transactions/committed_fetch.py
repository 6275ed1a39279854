"""Reads committed records of one partition, and the committed offsets of a group, as a copier needs them."""

from typing import NamedTuple

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from simulation.checkers.history import Place
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.consumer import AbortedTransactions
from simulation.transactions.coordinator_link import CoordinatorLink

__all__ = ["CommittedFetch", "committed_offsets", "fetch_committed"]

_FETCH_VERSION = 12
_OFFSET_FETCH_VERSION = 7
_MAX_WAIT_MS = 200
_READ_COMMITTED = 1


class CommittedFetch(NamedTuple):
    """`values`: offsets and values. `next_offset`: where to read on."""

    values: list[tuple[int, bytes]]
    next_offset: int


async def fetch_committed(client: ClusterClient, place: Place, offset: int) -> CommittedFetch | None:
    """One fetch from the leader; None if it gave an error or no response."""
    leader, epoch = client.leaders.get(place, (-1, -1))
    partition = FetchPartition(
        partition=place[1], current_leader_epoch=epoch, fetch_offset=offset, partition_max_bytes=4096
    )
    request = FetchRequest(
        max_wait_ms=_MAX_WAIT_MS,
        min_bytes=1,
        isolation_level=_READ_COMMITTED,
        topics=[FetchTopic(topic=place[0], partitions=[partition])],
    )
    try:
        answer = await client.ask(leader, request, _FETCH_VERSION)
    except UnansweredError:
        return None
    data = answer.responses[0].partitions[0]
    if data.error_code:
        client.failed(f"copy: fetch: {ErrorCode(data.error_code).name}", leader)
        return None
    aborted = AbortedTransactions(data)
    values: list[tuple[int, bytes]] = []
    for batch in iter_batches(bytes(data.records or b"")):
        if not batch.is_control and not aborted.has(batch):
            values += [(each.offset, each.value or b"") for each in read_records(batch) if each.offset >= offset]
        aborted.passed(batch)
        offset = max(offset, batch.next_offset)
    return CommittedFetch(values, offset)


async def committed_offsets(
    client: ClusterClient, link: CoordinatorLink, group: str, places: list[Place]
) -> dict[Place, int] | None:
    """The offsets that no open transaction can change; None when they are not known now."""
    topics: dict[str, list[int]] = {}
    for topic, partition in places:
        topics.setdefault(topic, []).append(partition)
    request = OffsetFetchRequest(
        group_id=group,
        topics=[OffsetFetchRequestTopic(name=name, partition_indexes=ids) for name, ids in topics.items()],
        require_stable=True,
    )
    try:
        answer = await link.ask_once(request, _OFFSET_FETCH_VERSION)
    except UnansweredError:
        return None
    results = {(topic.name, each.partition_index): each for topic in answer.topics for each in topic.partitions}
    codes = {answer.error_code, *(each.error_code for each in results.values())} - {0}
    if codes:
        client.history.counts[f"copy: offsets: {ErrorCode(max(codes)).name}"] += 1
        if ErrorCode.NOT_COORDINATOR in codes or ErrorCode.COORDINATOR_NOT_AVAILABLE in codes:
            link.forget()
        return None
    return {place: max(each.committed_offset, 0) for place, each in results.items()}
