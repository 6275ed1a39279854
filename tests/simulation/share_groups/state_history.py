"""Keeps the records of ``__share_group_state`` that share coordinators delete, and checks that nobody needs them."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from pybroker.base.kafka_names import SHARE_GROUP_STATE_TOPIC
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.share_coordination import ShareCoordination
from pybroker.storage.log.log import Log
from simulation.share_groups.state_log import Picture, StateKey, read_state_log
from simulation.transactions.log_view import LogBatch, batches_in

__all__ = ["StateHistory", "watched_deletions"]


class StateHistory:
    """``report`` is called with each violation."""

    def __init__(self, group_id: str, report: Callable[[str], None]) -> None:
        self._group_id = group_id
        self._report = report
        self._deleted: dict[int, dict[int, LogBatch]] = defaultdict(dict)
        """By partition and base offset."""

    def pictures(self, number: int, log: Log) -> dict[StateKey, Picture]:
        """The states by all records that a partition ever had. ``log``: that of one replica."""
        return read_state_log(self._batches(number, log), self._group_id)

    def delete(self, number: int, log: Log, offset: int) -> None:
        """A share coordinator deletes the records before an offset: the rest must tell the same states."""
        batches = self._batches(number, log)
        before = read_state_log(batches, self._group_id)
        after = read_state_log(_from(batches, offset), self._group_id)
        for key, picture in before.items():
            left = after.get(key, Picture())
            if picture.is_there != left.is_there or (picture.is_there and _essence(picture) != _essence(left)):
                self._report(f"state {key} needs records that are deleted before {offset}: {picture}, left is {left}")
        self._deleted[number].update({each.base_offset: each for each in batches if each.base_offset < offset})

    def _batches(self, number: int, log: Log) -> list[LogBatch]:
        known = {**self._deleted[number], **{each.base_offset: each for each in batches_in(log)}}
        return [known[offset] for offset in sorted(known)]


def _from(batches: list[LogBatch], offset: int) -> Iterator[LogBatch]:
    for batch in batches:
        yield batch._replace(records=tuple(each for each in batch.records if each[0] >= offset))


def _essence(picture: Picture) -> tuple[object, ...]:
    return picture.state_epoch, picture.leader_epoch, picture.start_offset, picture.records


@contextmanager
def watched_deletions(history: StateHistory) -> Iterator[None]:
    """Tell ``history`` of the deletions that share coordinators ask for."""
    delete = ShareCoordination._delete_records

    def watched(self: ShareCoordination, partition: int, offset: int) -> None:
        hosted = self._parts.partitions.get(TopicPartition(SHARE_GROUP_STATE_TOPIC, partition))
        if hosted is not None:
            history.delete(partition, hosted.log, offset)
        delete(self, partition, offset)

    with patch.object(ShareCoordination, "_delete_records", watched):
        yield
