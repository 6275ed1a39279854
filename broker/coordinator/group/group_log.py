"""Writes the generations of classic groups to ``__consumer_offsets``."""

import logging
from collections.abc import Callable, Mapping

from ....protocol.errors import ErrorCode, KafkaError
from ..internal_log import AppendOutcome
from .group import Group
from .record_keys import encode_group_key
from .record_log import MOVED, TOO_LARGE, UNAVAILABLE, RecordLog
from .records import encode_group

__all__ = ["GroupLog", "store_group_error"]

logger = logging.getLogger(__name__)

StoreDone = Callable[[ErrorCode], None]


def store_group_error(code: ErrorCode) -> ErrorCode:
    """The error code for members whose group's generation was not stored."""
    if code in UNAVAILABLE:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code in MOVED:
        return ErrorCode.NOT_COORDINATOR
    if code is ErrorCode.REQUEST_TIMED_OUT:
        return ErrorCode.REBALANCE_IN_PROGRESS
    if code in TOO_LARGE:
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return code


class GroupLog:
    """Writes by ``log``."""

    def __init__(self, log: RecordLog) -> None:
        self._log = log

    def store_group(self, group: Group, assignments: Mapping[str, bytes], done: StoreDone) -> None:
        """Write the group's generation with the assignments of all members."""
        generation_id = group.generation_id

        def finish(outcome: AppendOutcome) -> None:
            if not isinstance(outcome, KafkaError):
                done(ErrorCode.NONE)
                return
            error = store_group_error(outcome.code)
            level = logging.INFO if error is ErrorCode.NOT_COORDINATOR else logging.WARNING
            logger.log(
                level,
                "group %s: generation %d not stored: %s",
                group.group_id,
                generation_id,
                outcome.code.name,
            )
            done(error)

        record = (encode_group_key(group.group_id), encode_group(group, assignments))
        self._log.append(group.group_id, [record], finish)
