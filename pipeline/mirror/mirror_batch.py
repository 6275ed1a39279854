"""As what a micro-batch is written: a file in the checkpoint, written before its first record goes out.

    mirror/<batch id>.json      {"producerId":7,"epoch":3,"bases":{"events":{"0":100}}}

Whoever writes the micro-batch, first or again, is the same producer. The next micro-batch has the next epoch: tasks of
the one before that still run are refused then.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from ..appending.sequenced_batches import ProducerIdentity
from ..archive.manifest import to_text
from ..archive.table_commits import TableFiles
from ..options.partition_json import PartitionNumbers, numbers_by_topic, numbers_from_topics

DIRECTORY = "mirror"
_MOST_EPOCH = (1 << 15) - 2
_KEPT = 3


@dataclass(frozen=True, slots=True)
class MirrorBatch:
    """`bases`: where each target partition ended before."""

    identity: ProducerIdentity
    bases: PartitionNumbers


def find_batch(files: TableFiles, batch_id: int) -> MirrorBatch | None:
    """What was written down of a micro-batch."""
    try:
        content = json.loads(files.read_text(_path(batch_id)))
    except FileNotFoundError:
        return None
    identity = ProducerIdentity(content["producerId"], content["epoch"])
    return MirrorBatch(identity, numbers_from_topics(content["bases"]))


def begin_batch(
    files: TableFiles, batch_id: int, bases: PartitionNumbers, new_producer_id: Callable[[], int]
) -> MirrorBatch:
    """Writes down a micro-batch that is new."""
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
