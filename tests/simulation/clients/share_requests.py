"""The requests of a member of a share group, what it wants, and what it says of records (KIP-932)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple
from uuid import UUID

from pybroker.protocol.messages import share_acknowledge, share_fetch
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from simulation.checkers.history import Place
from simulation.share_groups.delivery_history import Delivery

__all__ = [
    "ACCEPT",
    "REJECT",
    "RELEASE",
    "RENEW",
    "Habits",
    "Held",
    "Said",
    "SharedPartition",
    "acknowledge_request",
    "add_forgotten",
    "fetch_request",
    "offsets_in",
]

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
_MAX_WAIT_MS = 400


class SharedPartition(NamedTuple):
    topic_id: UUID
    place: Place


@dataclass(frozen=True)
class Habits:
    """How a member treats records. ``weights``: of accept, release, reject, renew, and of saying nothing."""

    group: str
    version: int = 2
    weights: Sequence[int] = (60, 15, 5, 10, 10)
    max_records: int = 10
    is_record_limit: bool = False
    work_s: Sequence[float] = (0.0, 0.0, 0.2, 0.8, 1.5, 3.0)
    """How long it takes to process records."""

    @property
    def calm(self) -> "Habits":
        """It accepts all at once."""
        return replace(self, weights=(1, 0, 0, 0, 0), work_s=(0.0,), max_records=50)

    def choice(self, random: Random) -> int | None:
        choices = (ACCEPT, RELEASE, REJECT, RENEW if self.version > 1 else ACCEPT, None)
        return random.choices(choices, self.weights)[0]


@dataclass(eq=False, slots=True)
class Held:
    """A record that the member has. ``type_``: what it will say at ``due_s``; None: nothing."""

    delivery: Delivery
    type_: int | None
    due_s: float


Said = dict[SharedPartition, dict[int, Held]]


def fetch_request(
    habits: Habits, member_id: str, epoch: int, named: Iterable[SharedPartition], said: Said
) -> share_fetch.ShareFetchRequest:
    """``named``: new partitions, and partitions with acknowledgements."""
    topics: dict[UUID, share_fetch.FetchTopic] = {}
    for partition in named:
        topic = topics.setdefault(partition.topic_id, share_fetch.FetchTopic(topic_id=partition.topic_id))
        batches = _batches(share_fetch.AcknowledgementBatch, said.get(partition, {}))
        number = partition.place[1]
        topic.partitions.append(share_fetch.FetchPartition(partition_index=number, acknowledgement_batches=batches))
    return share_fetch.ShareFetchRequest(
        group_id=habits.group,
        member_id=member_id,
        share_session_epoch=epoch,
        max_wait_ms=_MAX_WAIT_MS,
        min_bytes=1,
        max_bytes=1 << 20,
        max_records=habits.max_records,
        batch_size=habits.max_records,
        share_acquire_mode=int(habits.is_record_limit and habits.version > 1),
        topics=list(topics.values()),
    )


def add_forgotten(request: share_fetch.ShareFetchRequest, forgotten: Iterable[SharedPartition]) -> None:
    """Let the session no longer fetch these partitions."""
    request.forgotten_topics_data += [
        share_fetch.ForgottenTopic(topic_id=each.topic_id, partitions=[each.place[1]]) for each in forgotten
    ]


def acknowledge_request(
    habits: Habits, member_id: str, epoch: int, said: Said, *, renews: bool
) -> share_acknowledge.ShareAcknowledgeRequest:
    topics: dict[UUID, share_acknowledge.AcknowledgeTopic] = {}
    for partition, held in said.items():
        topic = topics.setdefault(partition.topic_id, share_acknowledge.AcknowledgeTopic(topic_id=partition.topic_id))
        batches = _batches(share_acknowledge.AcknowledgementBatch, held)
        number = partition.place[1]
        topic.partitions.append(
            share_acknowledge.AcknowledgePartition(partition_index=number, acknowledgement_batches=batches)
        )
    request = share_acknowledge.ShareAcknowledgeRequest(
        group_id=habits.group, member_id=member_id, share_session_epoch=epoch, topics=list(topics.values())
    )
    if habits.version > 1:
        request.is_renew_ack = renews
    return request


def offsets_in(records: Any) -> Iterable[int]:
    """The offsets of the records of a response."""
    for batch in iter_batches(bytes(records or b"")):
        for record in read_records(batch):
            yield record.offset


def _batches(kind: Any, held: dict[int, Held]) -> list[Any]:
    """The acknowledgements of neighbours in one batch, with a type for each."""
    batches: list[Any] = []
    for offset, each in held.items():
        if batches and batches[-1].last_offset == offset - 1:
            batches[-1].last_offset = offset
            batches[-1].acknowledge_types.append(each.type_)
        else:
            batches.append(kind(first_offset=offset, last_offset=offset, acknowledge_types=[each.type_]))
    return batches
