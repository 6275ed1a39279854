"""Offsets of groups: commits, commits in transactions (KIP-98, KIP-447), and fetches."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ....base.quiet_lines import QUIET
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.sentinels import NO_LEADER_EPOCH
from ..internal_log import AppendOutcome
from ..transaction_end import TransactionEnd
from .base import GroupBase
from .commit_request import CommitRequest
from .memory import group_bytes
from .offset_batch import TransactionalProducer
from .offset_limit import OffsetLimit
from .offset_log import OffsetLog, commit_error
from .offsets import OffsetAndMetadata
from .rebalance import Rebalances
from .registry import GroupRegistry
from .results import OffsetFetchResult
from .settings import GroupSettings
from .timeline import EventKind

__all__ = ["INVALID_OFFSET", "NO_MEMBER", "CommitReply", "Commits", "FetchingMember"]

logger = logging.getLogger(__name__)

INVALID_OFFSET = -1
"""OffsetFetch's offset for a partition without a committed offset."""

NOTHING_COMMITTED = OffsetFetchResult(INVALID_OFFSET, NO_LEADER_EPOCH, "", ErrorCode.NONE)
UNSTABLE = OffsetFetchResult(INVALID_OFFSET, NO_LEADER_EPOCH, "", ErrorCode.UNSTABLE_OFFSET_COMMIT)

Offsets = Mapping[TopicPartition, OffsetAndMetadata]
CommitReply = Callable[[Mapping[TopicPartition, ErrorCode]], None]


class FetchingMember(NamedTuple):
    """The member that an OffsetFetch names (KIP-848)."""

    member_id: str | None
    epoch: int


NO_MEMBER = FetchingMember(None, -1)


class Commits:
    """OffsetCommit, TxnOffsetCommit and OffsetFetch of the groups on this broker."""

    def __init__(
        self,
        settings: GroupSettings,
        registry: GroupRegistry,
        rebalances: Rebalances,
        offset_log: OffsetLog,
        now_ms: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._rebalances = rebalances
        self._offset_log = offset_log
        self._now_ms = now_ms
        self._limit = OffsetLimit(settings.offsets_max_bytes, registry.count_offset_bytes, now_ms)
        self.committed_offsets = 0
        """How many offsets were stored, since the start."""

    def commit(self, request: CommitRequest, reply: CommitReply) -> None:
        """OffsetCommit. Calls ``reply`` with a code for each partition when the offsets are written."""
        error = self._registry.check(request.group_id, may_be_empty=True)
        group = self._registry.get(request.group_id)
        if error is ErrorCode.NONE and group is None:
            if request.generation_id >= 0:
                tells_epochs = self._settings.serves_consumer_groups and request.knows_epochs
                error = ErrorCode.GROUP_ID_NOT_FOUND if tells_epochs else ErrorCode.ILLEGAL_GENERATION
            else:
                error, group = self._new_group(request.group_id)
        if group is not None and error is ErrorCode.NONE:
            error = group.refuses_commit(request, is_transactional=False)
        if group is None or error is not ErrorCode.NONE:
            reply(dict.fromkeys(request.offsets, error))
            return
        self._rebalances.keep_member_alive(group, request.member_id)
        if group.is_empty and group.is_consumer_group:
            self._note_reset(group, request.offsets)
        self._store(group, request.offsets, reply)

    def refusal_of_group(self, group_id: str) -> ErrorCode:
        """Why this broker does not coordinate the group; NONE when it does."""
        return self._registry.check(group_id)

    def commit_in_transaction(
        self, request: CommitRequest, producer: TransactionalProducer, reply: CommitReply
    ) -> None:
        """TxnOffsetCommit. The offsets take effect when the producer's transaction commits."""
        error = self._registry.check(request.group_id)
        group = self._registry.get(request.group_id)
        if error is ErrorCode.NONE and group is None:
            error, group = self._new_group(request.group_id)
        if group is not None and error is ErrorCode.NONE:
            error = group.refuses_commit(request, is_transactional=True)
        if group is None or error is not ErrorCode.NONE:
            reply(dict.fromkeys(request.offsets, error))
            return
        self._store(group, request.offsets, reply, producer)

    def _note_reset(self, group: GroupBase, offsets: Offsets) -> None:
        """A client that is no member sets offsets of a consumer group without members."""
        partition, value = next(iter(offsets.items()), (None, None))
        if partition is None or value is None:
            return
        text = f"a client that is no member set {len(offsets)} offsets, the first of {partition} to {value.offset}"
        group.timeline.note(EventKind.OFFSETS_SET, text, group.generation_id, self._now_ms())

    def _new_group(self, group_id: str) -> tuple[ErrorCode, GroupBase | None]:
        now_ms = self._now_ms()
        if self._registry.has_space_for(group_bytes(group_id), now_ms):
            return ErrorCode.NONE, self._registry.get_or_create(group_id, now_ms)
        logger.warning("group %s not created: pybroker.groups.max.bytes is reached", group_id, extra=QUIET)
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, None

    def complete_transaction(self, partition: int, end: TransactionEnd) -> None:
        """An end marker of a transaction was written to this partition of ``__consumer_offsets``."""
        self._registry.end_transaction(partition, end)

    def fetch(
        self,
        group_id: str,
        partitions: Iterable[TopicPartition] | None,
        member: FetchingMember = NO_MEMBER,
        *,
        require_stable: bool,
    ) -> tuple[ErrorCode, dict[TopicPartition, OffsetFetchResult]]:
        """OffsetFetch. ``partitions``: None for all partitions with a committed offset.

        ``require_stable``: UNSTABLE_OFFSET_COMMIT for an offset that an open transaction may change (KIP-447).
        """
        error = self._registry.check(group_id, may_be_empty=True)
        if error is not ErrorCode.NONE:
            return error, {}
        group = self._registry.get(group_id)
        if group is None:
            return ErrorCode.NONE, dict.fromkeys(partitions or (), NOTHING_COMMITTED)
        error = group.refuses_fetch(*member)
        if error is not ErrorCode.NONE:
            return error, {}
        wanted = group.offsets.committed if partitions is None else partitions
        return ErrorCode.NONE, {partition: _show(group, partition, require_stable) for partition in wanted}

    def _store(
        self, group: GroupBase, offsets: Offsets, reply: CommitReply, producer: TransactionalProducer | None = None
    ) -> None:
        accepted = {key: value for key, value in offsets.items() if self.is_metadata_short_enough(value.metadata)}
        codes = dict.fromkeys(offsets, ErrorCode.OFFSET_METADATA_TOO_LARGE)
        producer_id = None if producer is None else producer.producer_id
        growth = {key: group.offsets.growth_bytes(key, value, producer_id) for key, value in accepted.items()}
        if (total := sum(growth.values())) and not self._limit.reserve(total):
            logger.warning(
                "group %s: offsets not stored, pybroker.offsets.max.bytes is reached", group.group_id, extra=QUIET
            )
            codes.update((key, ErrorCode.INVALID_COMMIT_OFFSET_SIZE) for key in growth if growth[key])
            accepted = {key: value for key, value in accepted.items() if not growth[key]}
        if not accepted:
            reply(codes)
            return

        def finish(outcome: AppendOutcome) -> None:
            if isinstance(outcome, KafkaError):
                error = commit_error(outcome.code)
                level = logging.INFO if error is ErrorCode.NOT_COORDINATOR else logging.WARNING
                logger.log(level, "group %s: offsets not stored: %s", group.group_id, outcome.code.name)
            else:
                error = ErrorCode.NONE
                self.committed_offsets += len(accepted)
            _finish_append(group, accepted, outcome, producer)
            codes.update(dict.fromkeys(accepted, error))
            reply(codes)

        if producer is None:
            group.offsets.stage(accepted)
        else:
            group.offsets.stage_transactional(producer.producer_id, accepted)
            self._registry.note_transaction(group, producer.producer_id)
        self._offset_log.store_offsets(group.group_id, accepted, finish, producer)

    def is_metadata_short_enough(self, metadata: str) -> bool:
        # Java counts UTF-16 units; a character has one or two of them.
        limit = self._settings.metadata_max_bytes
        return len(metadata) * 2 <= limit or len(metadata.encode("utf-16-le", "surrogatepass")) // 2 <= limit


def _finish_append(
    group: GroupBase, offsets: Offsets, outcome: AppendOutcome, producer: TransactionalProducer | None
) -> None:
    """Staged offsets become committed offsets, or are dropped."""
    match outcome, producer:
        case KafkaError(), None:
            group.offsets.on_append_failed(offsets)
        case KafkaError(), TransactionalProducer(producer_id):
            group.offsets.on_transactional_append_failed(producer_id, offsets)
        case int(appended_at), None:
            group.offsets.on_appended(appended_at, offsets)
        case int(appended_at), TransactionalProducer(producer_id):
            group.offsets.on_transactional_appended(producer_id, appended_at, offsets)


def _show(group: GroupBase, partition: TopicPartition, require_stable: bool) -> OffsetFetchResult:
    if require_stable and group.offsets.is_unstable(partition):
        return UNSTABLE
    value = group.offsets.get(partition)
    if value is None:
        return NOTHING_COMMITTED
    return OffsetFetchResult(value.offset, value.leader_epoch, value.metadata, ErrorCode.NONE)
