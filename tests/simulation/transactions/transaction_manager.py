"""A transactional producer as Kafka's Java client is: its requests, retries, errors and epochs.

After an error the caller aborts the transaction, and the manager gets a new epoch when batches of unknown fate are left
(KIP-360). All requests and responses go into the history.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pybroker.base.coordinator_partition import partition_for_key
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pybroker.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from simulation.checkers.history import Place
from simulation.clients.cluster_client import ClusterClient
from simulation.machines.simulated_cluster import SETTINGS
from simulation.transactions.coordinator_link import GROUP, TRANSACTION, CoordinatorLink
from simulation.transactions.protocol_versions import ProtocolVersions
from simulation.transactions.transaction_errors import AbortableError, FatalError, is_fatal
from simulation.transactions.transactional_batches import TransactionalBatches
from support.transactions.transaction_history import (
    ProducerSession,
    SentTransaction,
    TransactionHistory,
    TransactionOutcome,
)

__all__ = ["PASSING", "GroupMetadata", "TransactionManager"]

PASSING = "passing"
"""Topics with these names are deleted and made anew: nothing is known about their records."""
_ADD_TIMEOUT_S = 6.0
"""A topic that is deleted stays unknown."""

_OFFSETS = "__consumer_offsets"
_REFUSED = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
)
"""A coordinator that gives this to the first EndTxn has decided nothing by it."""
_NOTHING_DECIDED = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.CONCURRENT_TRANSACTIONS,
)


class GroupMetadata:
    """The member of a group that commits its offsets (KIP-447); without a member, anybody may commit them."""

    def __init__(self, group: str, member_id: str = "", generation: int = -1) -> None:
        self.group = group
        self.member_id = member_id
        self.generation = generation


class TransactionManager:
    """`is_cautious`: it gets a new epoch after a response was missing, so that no late request can meet its next
    transaction (Kafka's client does not do that).
    """

    def __init__(
        self,
        client: ClusterClient,
        transactional_id: str,
        timeout_ms: int,
        versions: ProtocolVersions,
        history: TransactionHistory,
        *,
        is_cautious: bool,
    ) -> None:
        self.client = client
        self.transactional_id = transactional_id
        self.is_over = False
        """No request is sent again."""
        self._timeout_ms = timeout_ms
        self._versions = versions
        self._history = history
        self._is_cautious = is_cautious
        self._coordinator = CoordinatorLink(client, transactional_id, TRANSACTION, lambda: self.is_over)
        self._groups: dict[str, CoordinatorLink] = {}
        self._session: ProducerSession | None = None
        self._batches = TransactionalBatches(client, transactional_id, versions.produce)
        self._current: SentTransaction | None = None
        self._added: dict[Place, None] = {}
        self._late_before = 0
        self._is_begun = False
        """The coordinator may know a transaction."""

    @property
    def session(self) -> ProducerSession:
        assert self._session is not None
        return self._session

    # -- InitProducerId

    async def start(self) -> None:
        """Fence earlier clients of this id. Raises FatalError and GivenUpError."""
        await self._init(-1, -1)

    async def _bump_epoch(self) -> None:
        await self._init(self.session.producer_id, self.session.producer_epoch)

    async def _init(self, producer_id: int, producer_epoch: int) -> None:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
        )
        code, answer = await self._coordinator.ask(
            request, self._versions.init_producer_id, lambda answer: ErrorCode(answer.error_code)
        )
        self._told("init", code)
        if code is not ErrorCode.NONE:
            raise FatalError(code)
        self._take_identity(answer.producer_id, answer.producer_epoch)

    def _take_identity(self, producer_id: int, producer_epoch: int) -> None:
        """Go on with another producer id or epoch: sequences begin anew."""
        now_s = self.client.loop.time()
        self._session = ProducerSession(self.transactional_id, self.client.name, producer_id, producer_epoch, now_s)
        self._history.sessions.append(self._session)
        self._late_before = self._late_requests()
        self._batches.begin_anew(producer_id, producer_epoch)

    def _go_on_with(self, producer_id: int, producer_epoch: int) -> None:
        """The end of a transaction gave a new epoch. The session is that of the last InitProducerId, which fences."""
        self._session = replace(self.session, producer_id=producer_id, producer_epoch=producer_epoch)
        self._batches.begin_anew(producer_id, producer_epoch)

    # -- one transaction

    def begin(self) -> SentTransaction:
        if self._late_requests() > self._late_before and not self._versions.ends_bump_epochs:
            self.session.has_late_requests = True
        self._added.clear()
        self._is_begun = False
        self._current = self._history.begin(self.session, self.client.loop.time())
        return self._current

    def note_reads(self, place: Place, values: Sequence[bytes]) -> None:
        """The client read these values in the transaction."""
        self._transaction.reads += [(place, value) for value in values]

    @property
    def _transaction(self) -> SentTransaction:
        assert self._current is not None
        return self._current

    async def send(self, batches: Mapping[Place, Sequence[bytes]]) -> None:
        """Send a batch to each partition; an empty one only adds the partition.

        Raises AbortableError, FatalError, GivenUpError.
        """
        if self._versions.ends_bump_epochs:
            self._is_begun = self._is_begun or any(batches.values())
        else:
            await self._add_new(batches)
        results = await asyncio.gather(
            *(self._send(place, values) for place, values in batches.items() if values), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _add_new(self, batches: Iterable[Place]) -> None:
        try:
            async with asyncio.timeout(_ADD_TIMEOUT_S):
                await self._add_partitions([place for place in batches if place not in self._added])
        except TimeoutError:
            raise AbortableError(None) from None

    async def _send(self, place: Place, values: Sequence[bytes]) -> None:
        self._note_sent(place, values)
        await self._batches.send(place, values)

    async def _add_partitions(self, places: Sequence[Place]) -> None:
        if not places:
            return
        topics: dict[str, list[int]] = {}
        for topic, partition in places:
            topics.setdefault(topic, []).append(partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.session.producer_id,
            v3_and_below_producer_epoch=self.session.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=name, partitions=ids) for name, ids in topics.items()],
        )
        self._is_begun = True
        code, _ = await self._coordinator.ask(request, self._versions.add_partitions, _worst_of_added)
        self._settle("add partitions", code)
        self._added.update(dict.fromkeys(places))

    async def send_offsets(self, group: GroupMetadata, offsets: Mapping[Place, int], value: bytes) -> None:
        """Commit a group's offsets in the transaction; ``value`` is their metadata.

        Raises AbortableError, FatalError, GivenUpError.
        """
        self._is_begun = True
        if not self._versions.ends_bump_epochs:
            await self._add_offsets(group)
        await self._commit_offsets(group, offsets, value)

    async def _add_offsets(self, group: GroupMetadata) -> None:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.session.producer_id,
            producer_epoch=self.session.producer_epoch,
            group_id=group.group,
        )
        code, _ = await self._coordinator.ask(
            request, self._versions.add_offsets, lambda answer: ErrorCode(answer.error_code)
        )
        self._settle("add offsets", code)

    async def _commit_offsets(self, group: GroupMetadata, offsets: Mapping[Place, int], value: bytes) -> None:
        topics: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, partition), offset in offsets.items():
            topics.setdefault(topic, []).append(
                TxnOffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=offset,
                    committed_metadata=f"{value.decode()}/{topic}-{partition}",
                )
            )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group.group,
            producer_id=self.session.producer_id,
            producer_epoch=self.session.producer_epoch,
            generation_id=group.generation,
            member_id=group.member_id,
            topics=[TxnOffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()],
        )
        place = _OFFSETS, partition_for_key(group.group, int(SETTINGS["offsets.topic.num.partitions"]))
        self._note_sent(place, [b"%b/%b-%d" % (value, topic.encode(), number) for topic, number in offsets])
        link = self._groups.setdefault(
            group.group, CoordinatorLink(self.client, group.group, GROUP, lambda: self.is_over)
        )
        code, _ = await link.ask(request, self._versions.txn_offset_commit, _worst_of_offsets)
        self._settle("commit offsets", code)

    async def end(self, *, is_commit: bool) -> None:
        """End the transaction. Raises FatalError when it is refused, and GivenUpError."""
        transaction = self._transaction
        if not self._is_begun:  # nothing was sent: Kafka's client sends no EndTxn either
            self._finish(TransactionOutcome.ABORTED)
            return
        if is_commit:
            transaction.outcome = TransactionOutcome.IN_DOUBT
            transaction.last_sent_s = self.client.loop.time()
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=self.session.producer_id,
            producer_epoch=self.session.producer_epoch,
            committed=is_commit,
        )
        doubts: list[ErrorCode | None] = []

        def note(code: ErrorCode | None) -> None:
            if code not in _NOTHING_DECIDED:
                doubts.append(code)

        code, answer = await self._coordinator.ask(
            request, self._versions.end_txn, lambda answer: ErrorCode(answer.error_code), note
        )
        self._told("commit" if is_commit else "abort", code)
        if code is ErrorCode.NONE:
            self._finish(TransactionOutcome.COMMITTED if is_commit else TransactionOutcome.ABORTED)
        elif is_commit and code in _REFUSED and not doubts:
            self._finish(TransactionOutcome.ABORTED)
        if code is not ErrorCode.NONE:
            raise FatalError(code)
        if self._versions.ends_bump_epochs:
            self._go_on_with(answer.producer_id, answer.producer_epoch)
        elif self._is_cautious and self._late_requests() > self._late_before:
            await self._bump_epoch()

    async def abort(self, error: AbortableError) -> None:
        """End the transaction after an error. Raises FatalError and GivenUpError."""
        await self.end(is_commit=False)
        if error.bumps_epoch and not self._versions.ends_bump_epochs:
            await self._bump_epoch()

    def _finish(self, outcome: TransactionOutcome) -> None:
        self._transaction.outcome = outcome
        self._transaction.ended_s = self.client.loop.time()
        self.client.history.counts[f"transactions: {outcome.value}"] += 1

    # -- the history

    def _note_sent(self, place: Place, values: Sequence[bytes]) -> None:
        if place[0].startswith(PASSING):
            return
        self._transaction.values.setdefault(place, []).extend(values)
        self._transaction.last_sent_s = self.client.loop.time()

    def _late_requests(self) -> int:
        """EndTxn and TxnOffsetCommit requests (and others) that may still arrive."""
        return self._coordinator.late_requests + sum(each.late_requests for each in self._groups.values())

    def _settle(self, what: str, code: ErrorCode) -> None:
        """Raise the error that a lasting code means."""
        self._told(what, code)
        if code is ErrorCode.NONE:
            return
        if is_fatal(code):
            raise FatalError(code)
        raise AbortableError(code)

    def _told(self, what: str, code: ErrorCode) -> None:
        session = self._session
        name = "new" if session is None else f"{session.producer_id}@{session.producer_epoch}"
        self.client.note(f"{self.transactional_id} {name} {what}: {code.name}")
        if code is not ErrorCode.NONE:
            self.client.history.counts[f"transactions: {what}: {code.name}"] += 1


def _worst(codes: Sequence[int]) -> ErrorCode:
    """OPERATION_NOT_ATTEMPTED stands beside the error that explains it."""
    errors = [ErrorCode(code) for code in codes if code]
    telling = [each for each in errors if each is not ErrorCode.OPERATION_NOT_ATTEMPTED]
    return (telling or errors or [ErrorCode.NONE])[0]


def _worst_of_added(answer: AddPartitionsToTxnResponse) -> ErrorCode:
    topics = answer.results_by_topic_v3_and_below
    return _worst([each.partition_error_code for topic in topics for each in topic.results_by_partition])


def _worst_of_offsets(answer: TxnOffsetCommitResponse) -> ErrorCode:
    return _worst([each.error_code for topic in answer.topics for each in topic.partitions])
