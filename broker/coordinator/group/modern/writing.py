"""Changes groups by records: applies them to memory at once, and writes them as one batch.

**Why.** The next request is decided on the newest state, and the log gets the batches in the same order. A response
goes out when the batches that it may depend on are written. When a batch is not written, memory is ahead of the log:
the partition is loaded anew.
"""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

from .....base.quiet_lines import QUIET
from .....protocol.errors import ErrorCode, KafkaError
from .....storage.log.append_chain import AppendChain
from ...batch_sizes import BATCH_BYTES, RECORD_BYTES
from ...internal_log import AppendOutcome
from ..base import GroupBase
from ..group import Group
from ..group_log import store_group_error
from ..offset_batch import AppliedRecords, BegunBatch, Pairs
from ..record_keys import encode_group_key
from ..record_log import RecordLog
from ..records import encode_group
from ..registry import GroupRegistry
from .group import ModernGroup

__all__ = ["GroupWriter", "Written", "write_error"]

logger = logging.getLogger(__name__)

_PAUSE_MS = 5_000

Written = Callable[[ErrorCode], None]
"""Called with NONE when the records are written, else with the error for the client."""

G = TypeVar("G", bound=ModernGroup)
R = TypeVar("R")


class GroupWriter(Generic[G, R]):
    """``applied`` is called with the group and its new records. ``reload`` loads a partition anew."""

    def __init__(
        self,
        registry: GroupRegistry,
        log: RecordLog,
        applied: Callable[[G, Sequence[R]], None],
        reload: Callable[[int], None],
    ) -> None:
        self._registry = registry
        self._log = log
        self._applied = applied
        self._reload = reload
        self._newest: dict[str, _Batch] = {}
        """By group id, the newest batch that is being written."""

    def refusal(self, group_id: str) -> ErrorCode:
        """The error for the client when the log would refuse a change now: so the partition is not loaded anew."""
        code = self._log.refusal(group_id)
        return ErrorCode.NONE if code is ErrorCode.NONE else _not_stored(group_id, code)

    def may_write(self, group_id: str) -> bool:
        """Whether the log would take a change now, as far as that is known."""
        return self._log.refusal(group_id) is ErrorCode.NONE

    def pause_ms(self, group_id: str) -> int:
        """After how many ms to try a change again that the log would refuse now; 0: it would not."""
        return 0 if self.refusal(group_id) is ErrorCode.NONE else _PAUSE_MS

    def write(
        self,
        group: G,
        records: Sequence[R],
        done: Written,
        replaced: GroupBase | None = None,
        encoded: Pairs | None = None,
        before: AppliedRecords | None = None,
    ) -> bool:
        """Change a group, which may be a new one. False, without a change, when the batch would be too large.

        ``replaced``: the group of another type in whose place this one comes; its records are deleted in the batch.
        ``encoded``: keys and values of the records, if they are known already. ``before``: what the group was made by.
        """
        group_id = group.group_id
        tombstones: Sequence[bytes] = () if replaced is None or before is not None else replaced.tombstones()
        begun = None if before is None else before.batch
        own = map(group.encoded, records) if encoded is None else encoded
        pairs = [*((key, None) for key in tombstones), *own]
        if not self._fits(group_id, pairs, begun):
            logger.warning("group %s: change not stored, because its records are too large", group_id, extra=QUIET)
            return False
        if replaced is not None:
            self._registry.replace(replaced, group)
        elif self._registry.get(group_id) is None:
            self._registry.add(group)
        for record in records:
            group.apply(record)
        self._applied(group, records if before is None else (*before.records, *records))
        self._append(group, pairs, done, begun)
        return True

    def write_classic(self, group: G, classic: Group, done: Written) -> bool:
        """Put a classic group in the place of a group. False, without a change, when the batch would be too large."""
        assignments = {member_id: member.assignment for member_id, member in classic.members.items()}
        record = (encode_group_key(classic.group_id), encode_group(classic, assignments))
        pairs = [*((key, None) for key in group.tombstones()), record]
        if not self._fits(group.group_id, pairs):
            return False
        self._registry.replace(group, classic)
        self._append(classic, pairs, done)
        return True

    def _append(self, group: GroupBase, pairs: Pairs, done: Written, begun: BegunBatch | None = None) -> None:
        group_id = group.group_id
        written_to = self._registry.partition_for(group_id)
        batch = _Batch(group, self._registry.partition_of(group_id), written_to, self._log.chain_of(written_to))
        batch.waiting.append(done)
        self._newest[group_id] = batch
        self._log.append(group_id, pairs, partial(self._finish, batch), is_step=True, begun=begun)

    def after_writes(self, group: G, done: Written) -> None:
        """Call ``done`` as soon as no batch of the group is being written, which is usually now.

        COORDINATOR_NOT_AVAILABLE: what was read of the group is not committed yet. A broker that does not know that
        another one leads now would tell members what never was.
        """
        batch = self._newest.get(group.group_id)
        if batch is None or batch.group is not group:
            done(ErrorCode.NONE if self._is_load_committed(group) else ErrorCode.COORDINATOR_NOT_AVAILABLE)
        else:
            batch.waiting.append(done)

    def is_written(self, group: G) -> bool:
        """Whether `after_writes` would call at once, with NONE."""
        batch = self._newest.get(group.group_id)
        return (batch is None or batch.group is not group) and self._is_load_committed(group)

    def _is_load_committed(self, group: G) -> bool:
        return self._log.is_load_committed(self._registry.partition_of(group.group_id))

    def after_newest(self, group_id: str, done: Written) -> None:
        """Call ``done`` as soon as no batch of the group id is being written, whatever type its group has now."""
        batch = self._newest.get(group_id)
        if batch is None:
            done(ErrorCode.NONE)
        else:
            batch.waiting.append(done)

    def _fits(self, group_id: str, pairs: Pairs, begun: BegunBatch | None = None) -> bool:
        limit = self._log.max_batch_bytes(group_id)
        begun_bytes = BATCH_BYTES if begun is None else begun.size_bytes
        size = begun_bytes + sum(len(key) + len(value or b"") + RECORD_BYTES for key, value in pairs)
        return limit is None or size <= limit

    def _finish(self, batch: "_Batch", outcome: AppendOutcome) -> None:
        group = batch.group
        if self._newest.get(group.group_id) is batch:
            del self._newest[group.group_id]
        error = ErrorCode.NONE
        if isinstance(outcome, KafkaError):
            error = _not_stored(group.group_id, outcome.code)
            if self._log.chain_of(batch.written_to) is batch.chain and self._registry.ownership.is_active:
                self._log.begin_anew(batch.written_to)
                self._reload(batch.loaded_from)
        for done in batch.waiting:
            done(error)


def write_error(code: ErrorCode) -> ErrorCode:
    """The error code for a member whose change was not written, or perhaps later: it sends its heartbeat again."""
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if code is ErrorCode.REQUEST_TIMED_OUT else store_group_error(code)


def _not_stored(group_id: str, code: ErrorCode) -> ErrorCode:
    """Log it; returns the error for the client."""
    error = write_error(code)
    level = logging.INFO if error is ErrorCode.NOT_COORDINATOR else logging.WARNING
    logger.log(level, "group %s: change not stored: %s", group_id, code.name, extra=QUIET)
    return error


class _Batch:
    """A batch that is being written, and whoever waits for it.

    ``loaded_from``, ``written_to``: partitions, which differ after the topic got more of them.
    """

    __slots__ = ("chain", "group", "loaded_from", "waiting", "written_to")

    def __init__(self, group: GroupBase, loaded_from: int, written_to: int, chain: AppendChain) -> None:
        self.group = group
        self.loaded_from = loaded_from
        self.written_to = written_to
        self.chain = chain
        self.waiting: list[Written] = []
