"""Administrative changes during a run: reassignments, elections, deletions of topics and records."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random

from simulation.checkers.history import Place
from simulation.checkers.tree_checker import TreeChecker
from simulation.clients.admin import Admin

__all__ = ["SAFE_CHANGES", "AdminChanges"]


class AdminChanges:
    """Makes random changes one after another. `places`: partitions used by clients, which are not deleted.
    `readable_end`: the offset up to which a consumer has read a partition. `changes`: the kinds of changes; None: all.
    """

    def __init__(
        self,
        admin: Admin,
        places: list[Place],
        brokers: list[int],
        tree: TreeChecker,
        readable_end: Callable[[Place], int],
        random: Random,
        changes: Sequence["Change"] | None = None,
    ) -> None:
        self._changes = changes or _CHANGES
        self._admin = admin
        self._places = places
        self._brokers = brokers
        self._tree = tree
        self._readable_end = readable_end
        self._random = random
        self._passing = 0

    async def run(self, count: int, duration_s: float) -> None:
        times_s = sorted(self._random.uniform(0, duration_s) for _ in range(count))
        begun_s = self._admin.client.loop.time()
        for time_s in times_s:
            await asyncio.sleep(max(0.0, begun_s + time_s - self._admin.client.loop.time()))
            await self._random.choice(self._changes)(self)

    async def _reassign(self) -> None:
        place = self._random.choice(self._places)
        count = self._random.randint(1, min(3, len(self._brokers)))
        await self._admin.reassign(place, self._random.sample(self._brokers, count))

    async def _cancel(self) -> None:
        await self._admin.reassign(self._random.choice(self._places), None)

    async def _elect_preferred(self) -> None:
        await self._admin.elect(self._places, unclean=False)

    async def _elect_uncleanly(self) -> None:
        place = self._random.choice(self._places)
        self._tree.allow_unclean(place)
        await self._admin.elect([place], unclean=True)

    async def _switch_unclean(self) -> None:
        topic, _ = self._random.choice(self._places)
        value = self._random.choice(("true", "false", "false"))
        await self._admin.set_config(topic, "unclean.leader.election.enable", value)

    async def _make_and_delete(self) -> None:
        """Create a topic, perhaps with the name of an earlier one, grow it and delete it."""
        self._passing += 1
        topic = f"passing{self._passing % 2}"
        replicas = self._random.sample(self._brokers, min(2, len(self._brokers)))
        if await self._admin.create(topic, [replicas], {}, attempts=2):
            await asyncio.sleep(self._random.uniform(0, 2))
            if self._random.random() < 0.5:
                await self._admin.grow(topic, [self._random.sample(self._brokers, len(replicas))])
            await self._admin.delete(topic)

    async def _delete_records(self) -> None:
        place = self._random.choice(self._places)
        offset = self._random.randint(0, self._readable_end(place))
        if offset > 0:
            await self._admin.delete_records(place, offset)


Change = Callable[[AdminChanges], Awaitable[None]]

_CHANGES = (
    AdminChanges._reassign,
    AdminChanges._reassign,
    AdminChanges._cancel,
    AdminChanges._elect_preferred,
    AdminChanges._elect_uncleanly,
    AdminChanges._switch_unclean,
    AdminChanges._make_and_delete,
    AdminChanges._delete_records,
)
SAFE_CHANGES = (
    AdminChanges._reassign,
    AdminChanges._reassign,
    AdminChanges._cancel,
    AdminChanges._elect_preferred,
    AdminChanges._make_and_delete,
)
"""Changes by which no record of a topic that clients use is lost."""
