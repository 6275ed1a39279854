"""Reads the log of a consumer group again and again, each time only what has been added."""

from pybroker.storage.log.log import Log
from simulation.consumer_groups.group_log import GroupLog, GroupLogReader
from simulation.transactions.log_view import LogBatch, batches_in

__all__ = ["FollowedLog"]


class FollowedLog:
    """Follows one log at a time. It begins anew when the log is another one, or was truncated or compacted."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._log: Log | None = None
        self._last: LogBatch | None = None
        """The last batch that was read. If the log still has it, the log has everything before it too."""
        self._end = 0
        self._reader = GroupLogReader(group, ())

    def read(self, log: Log) -> GroupLog:
        """The group at the end of the log. Its violations are not to be used, because commits in doubt count too."""
        if log is not self._log or self._has_changed(log):
            self._log, self._last, self._end = log, None, 0
            self._reader = GroupLogReader(self._group, ())
        for batch in batches_in(log, self._end):
            self._reader.read(batch)
            self._last = batch
        self._end = log.view.log_end_offset
        return self._reader.log

    def _has_changed(self, log: Log) -> bool:
        last = self._last
        return last is not None and next(batches_in(log, last.base_offset), None) != last
