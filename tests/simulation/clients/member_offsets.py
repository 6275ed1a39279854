"""Fetches and commits offsets as a member of a consumer group (KIP-848), under its member epoch."""

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
from simulation.transactions.coordinator_link import CoordinatorLink

__all__ = ["CHANGING", "MemberOffsets"]

CHANGING = "changing"
"""The names of topics that are deleted during a run begin so. A late deletion takes the offsets of their successors."""
_COMMIT_VERSION = _FETCH_VERSION = 9
_FETCHED_SHARE = 0.5
"""The share of commits before which the member asks for the committed offsets."""
_FIND_AGAIN = (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


class MemberOffsets:
    """The offsets of one member's partitions; each commit of a partition is one higher than the last. `commits`: the
    number of accepted ones.
    """

    def __init__(self, client: ClusterClient, link: CoordinatorLink, group: str, history: OwnershipHistory) -> None:
        self.commits = 0
        self._client = client
        self._link = link
        self._group = group
        self._history = history

    async def commit(
        self,
        member_id: str,
        epoch: int,
        acquired_s: Mapping[OwnedPartition, float],
        names: Mapping[OwnedPartition, str],
    ) -> None:
        """Commit the next offset of each partition, which the member has had since ``acquired_s``. Raises
        UnansweredError.
        """
        expected = {each: self._history.committed(each) for each in acquired_s}
        before = dict(expected)
        if self._client.random.random() < _FETCHED_SHARE:
            before = await self._fetch(member_id, epoch, names)
        asked_s = self._client.loop.time()
        commits = [
            MemberCommit(member_id, epoch, each, max(before[each], expected[each]) + 1, acquired_s[each], asked_s)
            for each in acquired_s
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
                self._history.accepts(commit, self._client.loop.time())
                if not names[partition].startswith(CHANGING):
                    self._history.check_offset(partition, expected[partition], before[partition])
            elif code not in (ErrorCode.REQUEST_TIMED_OUT, *_FIND_AGAIN):
                self._history.refused(commit)

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
