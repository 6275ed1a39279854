"""Consume-transform-produce: copies committed records to another topic, and its offsets in the same transaction.

The partitions come from a group, whose members commit under their generation (KIP-447), or are fixed: then only the
transactional id fences earlier copiers.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from random import Random

from simulation.checkers.history import Place
from simulation.clients.cluster_client import ClusterClient
from simulation.transactions.committed_fetch import CommittedFetch, committed_offsets, fetch_committed
from simulation.transactions.coordinator_link import GROUP, CoordinatorLink
from simulation.transactions.membership import Membership
from simulation.transactions.protocol_versions import ProtocolVersions
from simulation.transactions.transaction_errors import AbortableError, FatalError, GivenUpError
from simulation.transactions.transaction_manager import GroupMetadata, TransactionManager
from simulation.transactions.transactional_writer import ClientSource
from support.transactions.copy_checker import copy_of
from support.transactions.transaction_history import TransactionHistory

__all__ = ["Copier", "CopyPlan"]

_ABORTED_SHARE = 0.1
_PAUSE_SHARE = 0.05
_RESTART_S = (2.0, 8.0)
_BACKOFF_S = 0.2
_TIMEOUT_MS = 3_000


class CopyPlan:
    """Which partition is copied to which one, by a group."""

    def __init__(self, group: str, outputs: Mapping[Place, Place], *, is_assigned: bool) -> None:
        """``is_assigned``: the group's members share the partitions."""
        self.group = group
        self.outputs = outputs
        self.is_assigned = is_assigned


class Copier:
    """One copier of a plan. `copied`: the committed offset of each input partition that this copier knows."""

    def __init__(
        self,
        name: str,
        plan: CopyPlan,
        new_client: ClientSource,
        history: TransactionHistory,
        random: Random,
        versions: Sequence[ProtocolVersions],
    ) -> None:
        self._name = name
        self._plan = plan
        self._versions = versions
        self._new_client = new_client
        self._history = history
        self._random = random
        self._count = 0
        self._is_over = False
        self._tasks: list[asyncio.Task[None]] = []
        self._newest: ClusterClient | None = None
        self.copied: dict[Place, int] = {}

    def stop(self) -> None:
        """Begin no more transactions."""
        self._is_over = True

    async def run(self, calm_s: float) -> None:
        """Copy until stopped. Up to `calm_s` copiers crash, or a second one starts under the same id."""
        loop = asyncio.get_running_loop()
        while not self._is_over:
            if not self._tasks or self._tasks[-1].done() or loop.time() < calm_s:
                self._begin(loop)
            await asyncio.sleep(self._random.uniform(*_RESTART_S))
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start a copier; the one before it crashes, or goes on until it is fenced."""
        before = self._newest
        if before is not None and self._random.random() < 0.5:
            self._tasks[-1].cancel()
            before.close()
        self._count += 1
        client = self._newest = self._new_client(f"{self._name}.{self._count}")
        self._tasks.append(loop.create_task(self._copy(client)))

    async def _copy(self, client: ClusterClient) -> None:
        """Run one copier until another one fences it."""
        link = CoordinatorLink(client, self._plan.group, GROUP, lambda: self._is_over)
        versions = client.random.choice(self._versions)
        manager = TransactionManager(client, self._name, _TIMEOUT_MS, versions, self._history, is_cautious=True)
        while not self._is_over:
            try:
                await client.refresh(*self._topics())
                await manager.start()
                await _Copying(client, self._plan, manager, link, self.copied).run(lambda: self._is_over)
            except FatalError:
                if self._newest is not client:
                    return
            except GivenUpError:
                return
            await asyncio.sleep(_BACKOFF_S)

    def _topics(self) -> list[str]:
        return list(dict.fromkeys(topic for places in self._plan.outputs.items() for topic, _ in places))


class _Copying:
    """The work of one client from its InitProducerId on."""

    def __init__(
        self,
        client: ClusterClient,
        plan: CopyPlan,
        manager: TransactionManager,
        link: CoordinatorLink,
        copied: dict[Place, int],
    ) -> None:
        self._client = client
        self._plan = plan
        self._manager = manager
        self._link = link
        self._copied = copied
        self._membership = Membership(link, plan.group, list(plan.outputs))
        self._positions: dict[Place, int] | None = None

    async def run(self, is_over: Callable[[], bool]) -> None:
        """Raises FatalError and GivenUpError."""
        while not is_over():
            places = list(self._plan.outputs)
            if self._plan.is_assigned:
                joined = await self._membership.join()
                if joined is None:
                    await self._client.back_off()
                    continue
                places = joined
            self._positions = None
            while not is_over() and (not self._plan.is_assigned or await self._membership.is_current()):
                if not await self._step(places):
                    await self._client.back_off()

    async def _step(self, places: list[Place]) -> bool:
        """Copy some records. Returns False when there was an error, or nothing to do."""
        client = self._client
        if self._positions is None:
            self._positions = await committed_offsets(client, self._link, self._plan.group, places)
            if self._positions is None or not places:
                return False
            self._copied.update(self._positions)
        fetched: dict[Place, CommittedFetch] = {}
        for place in places:
            found = await fetch_committed(client, place, self._positions[place])
            if found is None:
                await client.refresh(place[0])
            elif found.next_offset > self._positions[place]:
                fetched[place] = found
        return bool(fetched) and await self._copy(fetched)

    async def _copy(self, fetched: Mapping[Place, CommittedFetch]) -> bool:
        manager, random = self._manager, self._client.random
        manager.begin()
        name = f"{self._client.name}/offsets/{self._client.next_number(('offsets', 0))}".encode()
        offsets = {place: each.next_offset for place, each in fetched.items()}
        try:
            batches: dict[Place, list[bytes]] = {}
            for place, each in fetched.items():
                manager.note_reads(place, [value for _, value in each.values])
                batches.setdefault(self._plan.outputs[place], []).extend(
                    copy_of(value, name) for _, value in each.values
                )
            await manager.send({place: values for place, values in batches.items() if values})
            if random.random() < _PAUSE_SHARE:
                await asyncio.sleep(random.uniform(0.5, 4.0))
            metadata = self._membership.metadata if self._plan.is_assigned else GroupMetadata(self._plan.group)
            await manager.send_offsets(metadata, offsets, name)
            is_commit = random.random() > _ABORTED_SHARE
            await manager.end(is_commit=is_commit)
        except AbortableError as error:
            self._client.note(f"{manager.transactional_id} aborts: {error}")
            self._positions = None
            await manager.abort(error)
            return False
        if is_commit:
            self._copied.update(offsets)
            self._client.history.counts["copy: transactions"] += 1
            assert self._positions is not None
            self._positions.update(offsets)
        else:
            self._positions = None
        return True
