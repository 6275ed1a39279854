"""The lives of one member of a share group: it crashes, leaves, pauses, changes its subscription and comes back."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

from simulation.clients.cluster_client import ClusterClient
from simulation.clients.share_member import ShareMember
from simulation.clients.share_requests import Habits

__all__ = ["ShareLife", "ShareLifePlan"]

_PAUSES_S = (1.0, 5.0, 7.0)
_ABSENCES_S = (0.1, 0.5, 2.0, 5.0)
_LEAVE_S = 8.0
_LEAVING_SHARE = 0.7
"""The share of members sent away that leave; the others crash."""


@dataclass(frozen=True)
class ShareLifePlan:
    """The plan that all members of a group share. ``lives_s``: the shortest and longest time between two events.
    ``passing``: topics that need not exist.
    """

    topics: Sequence[str]
    habits: Habits = field(default_factory=lambda: Habits("sharers"))
    lives_s: tuple[float, float] = (1.0, 5.0)
    passing: Sequence[str] = ()
    events: Sequence[str] = ("crashes", "crashes", "leaves", "pauses", "subscribes", "begins sessions anew")


NewMember = Callable[[ClusterClient, str, tuple[str, ...], Habits], ShareMember]


class ShareLife:
    """One member, and those that follow it."""

    def __init__(
        self,
        name: str,
        plan: ShareLifePlan,
        new_client: Callable[[str], ClusterClient],
        new_member: NewMember,
        spawn: Callable[[str, "asyncio._CoroutineLike[None]"], "asyncio.Task[None]"],
        random: Random,
    ) -> None:
        self._name = name
        self._plan = plan
        self._new_client = new_client
        self._new_member = new_member
        self._spawn = spawn
        self._random = random
        self._count = 0
        self._is_calm = False
        self.member: ShareMember | None = None
        self.gone = asyncio.Event()
        """Whether it is away because `send_away` was called."""
        self._may_live = asyncio.Event()
        self._may_live.set()
        self._task: asyncio.Task[None] | None = None

    def send_away(self) -> None:
        """Let the member leave, and stay away."""
        self._may_live.clear()
        if self._task is not None:
            self._task.cancel()

    def let_back(self) -> None:
        """Join again."""
        self.gone.clear()
        self._may_live.set()

    def calm_down(self) -> None:
        """From now on the member behaves, and subscribes to all topics."""
        self._is_calm = True
        if self.member is not None:
            self._behave(self.member)

    def _behave(self, member: ShareMember) -> None:
        member.names, member.habits, member.paused_until_s = self._all(), member.habits.calm, 0.0

    async def run(self) -> None:
        """Live until cancelled."""
        while True:
            if not self._may_live.is_set():
                self.gone.set()
                await self._may_live.wait()
            self._count += 1
            client = self._new_client(f"{self._name}.{self._count}")
            member_id = str(UUID(int=self._random.getrandbits(128), version=4))
            member = self.member = self._new_member(client, member_id, self._names(), self._plan.habits)
            if self._is_calm:
                self._behave(member)
            task = self._task = self._spawn(client.name, member.run())
            try:
                await self._live(member, client, task)
            finally:
                task.cancel()
                client.close()
            if not self._is_calm:
                await asyncio.sleep(self._random.choice(_ABSENCES_S))

    def _all(self) -> tuple[str, ...]:
        return (*self._plan.topics, *self._plan.passing)

    def _names(self) -> tuple[str, ...]:
        topics = self._all()
        return tuple(self._random.sample(topics, self._random.choice((1, len(topics), len(topics)))))

    async def _live(self, member: ShareMember, client: ClusterClient, task: "asyncio.Task[None]") -> None:
        """Returns when the member has ended."""
        while True:
            await asyncio.wait([task], timeout=self._random.uniform(*self._plan.lives_s))
            if task.done():
                if not task.cancelled():
                    task.result()
                elif self._random.random() < _LEAVING_SHARE:
                    await self._leave(member, client)
                return
            if self._is_calm:
                continue
            event = self._random.choice(self._plan.events)
            client.history.counts[f"share group: a member {event}"] += 1
            client.note(event)
            match event:
                case "crashes":
                    return
                case "leaves":
                    task.cancel()
                    await self._leave(member, client)
                    return
                case "pauses":
                    member.paused_until_s = client.loop.time() + self._random.choice(_PAUSES_S)
                case "begins sessions anew":
                    member.begin_anew()
                case _:
                    member.names = self._names()

    async def _leave(self, member: ShareMember, client: ClusterClient) -> None:
        leaving = self._spawn(client.name, member.leave())
        await asyncio.wait([leaving], timeout=_LEAVE_S)
        leaving.cancel()
