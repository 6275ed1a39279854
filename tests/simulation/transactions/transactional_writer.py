"""Writers of transactions: for each transactional id a series of clients, which end, crash, or go on as zombies."""

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from simulation.checkers.history import Place
from simulation.clients.cluster_client import ClusterClient
from simulation.transactions.protocol_versions import ProtocolVersions
from simulation.transactions.transaction_errors import AbortableError, FatalError, GivenUpError
from simulation.transactions.transaction_manager import TransactionManager
from support.transactions.transaction_history import TransactionHistory

__all__ = ["TIMEOUTS_MS", "ClientSource", "TransactionalWriter"]

_ABORTED_SHARE = 0.2
_EMPTY_SHARE = 0.08
_PASSING_SHARE = 0.03
_LONG_PAUSE_SHARE = 0.06
_PAUSE_INSIDE_SHARE = 0.08
_BACKOFF_S = 0.2
TIMEOUTS_MS = (600, 2_000, 20_000)
"""Shorter and longer than the pauses of a client and the faults of a run."""

ClientSource = Callable[[str], ClusterClient]
"""Makes a client on a machine of its own."""


class _Running(NamedTuple):
    """One client, which `task` runs."""

    client: ClusterClient
    manager: TransactionManager
    task: "asyncio.Task[None]"


class TransactionalWriter:
    """Writes transactions under one transactional id, of unique values in up to three of the partitions, and sometimes
    in a passing place: a partition of a topic that may not exist.
    """

    def __init__(
        self,
        transactional_id: str,
        places: Sequence[Place],
        passing_places: Sequence[Place],
        new_client: ClientSource,
        history: TransactionHistory,
        random: Random,
        timeouts_ms: Sequence[int],
        lives_s: tuple[float, float],
        versions: Sequence[ProtocolVersions],
    ) -> None:
        """`timeouts_ms`: transaction.timeout.ms of a client is one of these. `lives_s`: the shortest and the longest
        time until the next client starts. `versions`: each client has one of these.
        """
        self._lives_s = lives_s
        self._versions = versions
        self._timeouts_ms = timeouts_ms
        self._transactional_id = transactional_id
        self._places = places
        self._passing_places = passing_places
        self._new_client = new_client
        self._history = history
        self._random = random
        self._running: list[_Running] = []
        self._count = 0
        self._is_over = asyncio.Event()

    def stop(self) -> None:
        """Begin no more transactions."""
        self._is_over.set()

    async def run(self) -> None:
        """Start one client after another, each of which fences the ones before it."""
        random = self._random
        while not self._is_over.is_set():
            self._start_client()
            try:
                async with asyncio.timeout(random.uniform(*self._lives_s)):
                    await self._is_over.wait()
            except TimeoutError:
                self._leave(self._running[-1])
        self._running[-1].manager.client.note("ends")
        await asyncio.gather(*(each.task for each in self._running), return_exceptions=True)

    def _start_client(self) -> None:
        self._count += 1
        client = self._new_client(f"{self._transactional_id}.{self._count}")
        manager = TransactionManager(
            client,
            self._transactional_id,
            client.random.choice(self._timeouts_ms),
            client.random.choice(self._versions),
            self._history,
            is_cautious=client.random.random() < 0.7,
        )
        task = asyncio.get_running_loop().create_task(self._write(client, manager))
        self._running.append(_Running(client, manager, task))

    def _leave(self, running: _Running) -> None:
        """The next client starts: this one crashes, or its machine does, or it goes on and becomes a zombie."""
        counts = running.client.history.counts
        match self._random.choice(("crash", "silent crash", "zombie", "zombie")):
            case "crash":
                counts["transactions: clients that crashed"] += 1
                running.task.cancel()
                running.client.close()
            case "silent crash":
                counts["transactions: clients that crashed"] += 1
                running.task.cancel()
            case _:
                counts["transactions: zombies"] += 1

    async def _write(self, client: ClusterClient, manager: TransactionManager) -> None:
        """Run one client until it is fenced by another one."""
        while True:
            try:
                await client.refresh(*dict.fromkeys(topic for topic, _ in (*self._places, *self._passing_places)))
                await manager.start()
                while not self._is_over.is_set():
                    await self._pause(client)
                    await self._transact(client, manager)
                return
            except FatalError:
                if self._is_over.is_set() or self._running[-1].client is not client:
                    return  # the next client has fenced this one
                await asyncio.sleep(_BACKOFF_S)
            except GivenUpError:
                return

    async def _pause(self, client: ClusterClient) -> None:
        random = client.random
        is_long = random.random() < _LONG_PAUSE_SHARE
        await asyncio.sleep(random.uniform(1.0, 3.0) if is_long else random.uniform(0.0, 0.3))

    async def _transact(self, client: ClusterClient, manager: TransactionManager) -> None:
        random = client.random
        manager.begin()
        try:
            for _ in range(random.choice((1, 1, 2, 3))):
                places = random.sample(self._places, random.randint(1, min(3, len(self._places))))
                if self._passing_places and random.random() < _PASSING_SHARE:
                    places.append(random.choice(self._passing_places))
                is_empty = random.random() < _EMPTY_SHARE
                await manager.send({place: () if is_empty else self._values(client, place) for place in places})
                if random.random() < _PAUSE_INSIDE_SHARE:
                    await asyncio.sleep(random.uniform(0.5, 3.0))
            await manager.end(is_commit=random.random() > _ABORTED_SHARE)
        except AbortableError as error:
            client.note(f"{self._transactional_id} aborts: {error}")
            await manager.abort(error)

    def _values(self, client: ClusterClient, place: Place) -> list[bytes]:
        number = client.next_number(place)
        count = client.random.choice((1, 1, 2, 4))
        return [f"{client.name}/{place[0]}-{place[1]}/{number}/{index}".encode() for index in range(count)]
