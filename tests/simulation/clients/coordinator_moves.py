"""Moves group coordinators between brokers during other faults, and provides clients that depend on them.

`Moves` is an administrator that keeps reassigning partitions of internal topics and their leaders. An
`OffsetKeeper` commits rising offsets without being a group member, many times between two moves.
"""

import asyncio
from collections.abc import Sequence
from random import Random

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from simulation.checkers.history import Commit, Place
from simulation.clients.admin import Admin
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.group_member import offsets_place
from simulation.machines.simulated_cluster import SimulatedCluster

__all__ = ["Moves", "OffsetKeeper", "moved_coordinators"]

OFFSETS = "__consumer_offsets"
_ANSWER_S = 3.0
_ASK_AGAIN = (
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""Errors that a committing client may see because of a move or fault."""


def moved_coordinators(cluster: SimulatedCluster, keeper_count: int = 3) -> None:
    """Make the simulation move coordinators and check what they keep."""
    moves = Moves(cluster, Random(cluster.random.random()))
    cluster.spawn(moves.name, moves.run())
    for number in range(keeper_count):
        keeper = OffsetKeeper(cluster.client(f"keeper{number}"), f"kept{number}")
        cluster.spawn(f"keeper{number}", keeper.run())


class Moves:
    """Moves partitions one after another, some of them in quick succession."""

    name = "mover"

    def __init__(self, cluster: SimulatedCluster, random: Random, topics: Sequence[str] = (OFFSETS,)) -> None:
        self._topics = topics
        self._cluster = cluster
        self._random = random
        self._admin = Admin(cluster.client(self.name))

    async def run(self) -> None:
        """Move partitions until cancelled, each after the end of all running reassignments."""
        while True:
            await asyncio.sleep(self._random.choice((0.05, 0.5, 1.0, 2.0)))
            await self.move_one(self._topics[0] if len(self._topics) == 1 else self._random.choice(self._topics))

    async def move_one(self, topic: str) -> None:
        """Move a partition of the topic, if it exists and no reassignment is running."""
        partitions = self._cluster.assignments().get(topic, {})
        if partitions and not self._cluster.reassignments():
            await self._move(topic, self._random.choice(list(partitions)), partitions)

    async def _move(self, topic: str, number: int, partitions: dict[int, list[int]]) -> None:
        place, replicas = (topic, number), partitions[number]
        match self._random.choice(("lead", "lead", "lead", "replicas", "cancel", "elect")):
            case "lead":
                await self._admin.reassign(place, self._random.sample(replicas, len(replicas)))
                await self._admin.elect([place], unclean=False)
            case "replicas":
                await self._admin.reassign(place, self._random.sample(list(self._cluster.brokers), len(replicas)))
            case "cancel":
                await self._admin.reassign(place, None)
            case _:
                await self._admin.elect([(topic, each) for each in partitions], unclean=False)


class OffsetKeeper:
    """Commits rising offsets of one partition for one group. `acknowledged` is the last offset a coordinator
    acknowledged.
    """

    def __init__(self, client: ClusterClient, group: str) -> None:
        self._client = client
        self._group = group
        self._coordinator: tuple[str, int] | None = None
        self._coordinator_id = -1
        self._kept_in: Place = offsets_place(group)
        self.acknowledged = Commit()

    async def run(self) -> None:
        while True:
            try:
                await self._commit_next(await self._address())
            except UnansweredError:
                self._coordinator = None
            await asyncio.sleep(0.05 + 0.1 * self._client.random.random())

    async def _address(self) -> tuple[str, int]:
        if self._coordinator is None:
            answer = await self._client.ask_any(FindCoordinatorRequest(key=self._group, key_type=0), 3)
            if answer.error_code:
                self._count(ErrorCode(answer.error_code))
                raise UnansweredError("no coordinator")
            self._coordinator, self._coordinator_id = (answer.host, answer.port), answer.node_id
        return self._coordinator

    async def _commit_next(self, coordinator: tuple[str, int]) -> None:
        """Only acknowledged commits count: they reached all in-sync replicas. A fetch from an outdated coordinator
        proves nothing.
        """
        before = await self._committed(coordinator)
        if before is None:
            return
        expected, client, coordinator_id = self.acknowledged, self._client, self._coordinator_id
        known_epoch, asked_s = client.known_epoch(coordinator_id, self._kept_in), client.loop.time()
        offset = max(before, expected.offset) + 1
        code = await self._commit(coordinator, offset)
        self._count(code)
        if code is ErrorCode.NONE:
            record = client.acknowledged(coordinator_id, self._kept_in, known_epoch, asked_s)
            self.acknowledged = Commit(offset, record)
            if before < expected.offset:
                self._suspect(f"offset {expected.offset} was committed, {before} is known", expected)
        elif code in _ASK_AGAIN:
            self._coordinator = None
        else:
            self._suspect(f"a commit is {code.name}", expected)

    def _suspect(self, what: str, before: Commit) -> None:
        self._client.history.suspect(self._kept_in, f"group {self._group}: {what}", before.record)

    async def _committed(self, coordinator: tuple[str, int]) -> int | None:
        """The committed offset; None when the coordinator gives none."""
        topic = OffsetFetchRequestTopic(name=OFFSETS, partition_indexes=[0])
        request = OffsetFetchRequest(group_id=self._group, topics=[topic])
        answer = await self._client.link(coordinator).ask(request, 5, _ANSWER_S)
        if answer.error_code:
            self._count(ErrorCode(answer.error_code))
            if answer.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                self._coordinator = None
            return None
        offset: int = answer.topics[0].partitions[0].committed_offset
        return offset

    async def _commit(self, coordinator: tuple[str, int], offset: int) -> ErrorCode:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topic = OffsetCommitRequestTopic(name=OFFSETS, partitions=[partition])
        request = OffsetCommitRequest(group_id=self._group, topics=[topic])
        answer = await self._client.link(coordinator).ask(request, 7, _ANSWER_S + 3)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def _count(self, code: ErrorCode) -> None:
        self._client.history.counts[f"keeper: {code.name}"] += 1
