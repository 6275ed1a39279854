"""The producer and the start offsets of a micro-batch: a file in the checkpoint, written before the first record is
sent.

    mirror/<batch id>.json      {"producerId":7,"epoch":3,"bases":{"events":{"0":100}}}

A repeated micro-batch is written by the same producer. The next micro-batch has the next epoch, which fences tasks of
the previous one that still run.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from ..appending.sequenced_batches import ProducerIdentity
from ..archive.commit_reader import TableFiles
from ..archive.manifest import to_text
from ..options.partition_json import PartitionNumbers, numbers_by_topic, numbers_from_topics

DIRECTORY = "mirror"
_MOST_EPOCH = (1 << 15) - 2
_KEPT = 3


@dataclass(frozen=True, slots=True)
class MirrorBatch:
    """Producer of a micro-batch. `bases`: where each target partition ended before."""

    identity: ProducerIdentity
    bases: PartitionNumbers


def find_batch(files: TableFiles, batch_id: int) -> MirrorBatch | None:
    """Returns the stored micro-batch, or None."""
    try:
        content = json.loads(files.read_text(_path(batch_id)))
    except FileNotFoundError:
        return None
    identity = ProducerIdentity(content["producerId"], content["epoch"])
    return MirrorBatch(identity, numbers_from_topics(content["bases"]))


def begin_batch(
    files: TableFiles, batch_id: int, bases: PartitionNumbers, new_producer_id: Callable[[], int]
) -> MirrorBatch:
    """Stores and returns a new micro-batch."""
    last = find_batch(files, batch_id - 1)
    if last is None or last.identity.epoch >= _MOST_EPOCH:
        identity = ProducerIdentity(new_producer_id(), 0)
    else:
        identity = last.identity._replace(epoch=last.identity.epoch + 1)
    content = {"producerId": identity.producer_id, "epoch": identity.epoch, "bases": numbers_by_topic(bases)}
    files.write_text(_path(batch_id), to_text(content))
    files.delete(_path(batch_id - _KEPT))
    return MirrorBatch(identity, bases)


def _path(batch_id: int) -> str:
    return f"{DIRECTORY}/{batch_id}.json"
