"""Reads as a member of a consumer group (KIP-848), and commits its positions under its member epoch."""

from collections.abc import Iterable, Mapping
from typing import Any

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from simulation.checkers.ownership import MemberCommit, OwnedPartition, OwnershipHistory
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.member_reads import MemberReads
from simulation.transactions.coordinator_link import CoordinatorLink

__all__ = ["CHANGING", "MemberOffsets"]

CHANGING = "changing"
"""The names of topics that are deleted during a run begin so. A late deletion takes the offsets of their successors."""
_COMMIT_VERSION = _FETCH_VERSION = 9
_FETCHED_SHARE = 0.5
"""The share of commits before which the member asks for the committed offsets."""
_FIND_AGAIN = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class MemberOffsets:
    """The positions of one member, which begin at the committed offsets. `commits`: the number of accepted commits."""

    def __init__(self, client: ClusterClient, link: CoordinatorLink, group: str, history: OwnershipHistory) -> None:
        self.commits = 0
        self._client = client
        self._link = link
        self._group = group
        self._history = history
        self._reads = MemberReads(client)
        self._positions: dict[tuple[OwnedPartition, float], int] = {}
        """The next offset to read of each partition, by the time since which the member has it."""
        self._count_of_commits = 0

    async def commit(
        self,
        member_id: str,
        epoch: int,
        acquired_s: Mapping[OwnedPartition, float],
        names: Mapping[OwnedPartition, str],
    ) -> None:
        """Read the partitions that the member has had since ``acquired_s``, and commit their positions. Raises
        UnansweredError.
        """
        expected = {each: self._history.committed(each) for each in acquired_s}
        before = dict(expected)
        is_new = any(each not in self._positions for each in acquired_s.items())
        if is_new or self._client.random.random() < _FETCHED_SHARE:
            before = await self._fetch(member_id, epoch, names)
        for each in before.keys() & acquired_s.keys():
            self._positions.setdefault((each, acquired_s[each]), max(before[each], 0))
        await self._read({each: acquired_s[each] for each in acquired_s if each in before}, names)
        asked_s = self._client.loop.time()
        self._count_of_commits += 1
        commits = [
            MemberCommit(
                member_id, epoch, each, self._positions[each, since_s], since_s, asked_s, self._count_of_commits
            )
            for each, since_s in acquired_s.items()
            if each in before
        ]
        if not commits:
            return
        for commit in commits:
            self._history.asks(commit)
        answer = await self._link.ask_once(self._request(member_id, epoch, commits, names), _COMMIT_VERSION)
        codes = {
            (topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions
        }
        for commit in commits:
            partition = commit.partition
            code = ErrorCode(codes[names[partition], partition.number])
            self._count("commit", code)
            if code is ErrorCode.NONE:
                self.commits += 1
                self._history.accepts(commit)
                if not names[partition].startswith(CHANGING):
                    self._history.check_offset(partition, expected[partition], before[partition])
            elif code not in (ErrorCode.REQUEST_TIMED_OUT, *_FIND_AGAIN):
                self._history.refused(commit)

    async def _read(self, acquired_s: Mapping[OwnedPartition, float], names: Mapping[OwnedPartition, str]) -> None:
        """Only topics that are never deleted have records."""
        partitions = {
            (names[each], each.number): (each, since_s)
            for each, since_s in acquired_s.items()
            if not names[each].startswith(CHANGING)
        }
        for place, position in (await self._reads.read({p: self._positions[k] for p, k in partitions.items()})).items():
            held = partitions[place]
            self._history.reads(held[0], self._positions[held], position)
            self._positions[held] = position

    def _request(
        self, member_id: str, epoch: int, commits: Iterable[MemberCommit], names: Mapping[OwnedPartition, str]
    ) -> OffsetCommitRequest:
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for commit in commits:
            topics.setdefault(names[commit.partition], []).append(
                OffsetCommitRequestPartition(
                    partition_index=commit.partition.number,
                    committed_offset=commit.offset,
                    committed_metadata=commit.text,
                )
            )
        return OffsetCommitRequest(
            group_id=self._group,
            generation_id_or_member_epoch=epoch,
            member_id=member_id,
            topics=[OffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()],
        )

    async def _fetch(
        self, member_id: str, epoch: int, names: Mapping[OwnedPartition, str]
    ) -> dict[OwnedPartition, int]:
        """The committed offsets, -1 for none; partitions with an error are left out."""
        topics: dict[str, list[int]] = {}
        for partition, name in names.items():
            topics.setdefault(name, []).append(partition.number)
        request = OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id=self._group,
                    member_id=member_id,
                    member_epoch=epoch,
                    topics=[
                        OffsetFetchRequestTopics(name=name, partition_indexes=each) for name, each in topics.items()
                    ],
                )
            ]
        )
        answer = (await self._link.ask_once(request, _FETCH_VERSION)).groups[0]
        code = ErrorCode(answer.error_code)
        self._count("fetch", code)
        if code is not ErrorCode.NONE:
            return {}
        found: dict[tuple[str, int], Any] = {
            (topic.name, each.partition_index): each for topic in answer.topics for each in topic.partitions
        }
        results = {partition: found[name, partition.number] for partition, name in names.items()}
        return {partition: each.committed_offset for partition, each in results.items() if not each.error_code}

    def _count(self, what: str, code: ErrorCode) -> None:
        self._client.history.counts[f"consumer group: {what}: {code.name}"] += 1
        if code in _FIND_AGAIN:
            self._link.forget()
