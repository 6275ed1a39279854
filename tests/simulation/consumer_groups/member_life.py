"""The lives of one member of a consumer group: it crashes, leaves, pauses, changes its subscription and comes back."""

import asyncio
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from uuid import UUID

from simulation.checkers.ownership import OwnershipHistory
from simulation.clients.classic_member import ClassicMember
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.consumer_member import ConsumerMember, FencedInstanceError, Membership

__all__ = ["REBALANCE_TIMEOUT_MS", "SESSION_TIMEOUT_MS", "LifePlan", "MemberLife"]

SESSION_TIMEOUT_MS = 4_000
REBALANCE_TIMEOUT_MS = 3_000
_PAUSES_S = (1.0, 5.0, 8.0)
_ABSENCES_S = (0.2, 1.0, 3.0, 6.0)
_REVOCATIONS_S = (0.0, 0.0, 0.0, 0.3, 1.0, 2.5)
_EVENTS = ("crashes", "leaves", "pauses", "pauses", "subscribes", "subscribes")
_LEAVE_ATTEMPTS = 5


@dataclass(frozen=True)
class LifePlan:
    """The plan that all members of a group share. ``lives_s``: the shortest and longest time between two events.

    ``protocols``: the group protocols, each the assignor of the classic protocol, or None for the consumer protocol.
    ``are_repeated``: copies of heartbeats come late.
    """

    group: str
    subscriptions: Sequence[tuple[str, ...]]
    patterns: Sequence[str] = ()
    assignors: Sequence[str | None] = (None,)
    lives_s: tuple[float, float] = (1.0, 6.0)
    stuck_share: float = 0.15
    """The share of members that never give partitions back."""
    events: Sequence[str] = _EVENTS
    protocols: Sequence[str | None] = (None,)
    are_repeated: bool = False


class MemberLife:
    """One member, and those that follow it. ``is_static``: they have one instance id."""

    def __init__(
        self,
        name: str,
        plan: LifePlan,
        new_client: Callable[[str], ClusterClient],
        spawn: Callable[[str, "asyncio._CoroutineLike[None]"], "asyncio.Task[None]"],
        history: OwnershipHistory,
        random: Random,
        *,
        is_static: bool,
    ) -> None:
        self._name = name
        self._plan = plan
        self._new_client = new_client
        self._spawn = spawn
        self._history = history
        self._random = random
        self._instance_id = name if is_static else None
        self._count = 0
        self._client: ClusterClient | None = None
        self._task: asyncio.Task[None] | None = None
        self._earlier_commits = 0
        self._is_calm = False
        self._latest: Membership | None = None
        self.member: ConsumerMember | ClassicMember | None = None

    @property
    def commits(self) -> int:
        return self._earlier_commits + (0 if self.member is None else self.member.offsets.commits)

    @property
    def is_static(self) -> bool:
        return self._instance_id is not None

    def calm_down(self) -> None:
        """From now on the member behaves."""
        self._is_calm = True

    async def run(self) -> None:
        """Live until cancelled."""
        while True:
            task = self.begin()
            while not task.done():
                await asyncio.wait([task], timeout=self._random.uniform(*self._plan.lives_s))
                if not self._is_calm and not task.done():
                    await self._happen()
            if not task.cancelled() and (error := task.exception()) is not None:
                if not isinstance(error, FencedInstanceError):
                    raise error
                self._end()
                await asyncio.sleep(1.0)

    def begin(self) -> "asyncio.Task[None]":
        """Start a new member."""
        self._count += 1
        client = self._client = self._new_client(f"{self._name}.{self._count}")
        membership = self._membership()
        member_id = "" if membership.version == 0 else str(UUID(int=self._random.getrandbits(128), version=4))
        if membership.protocol is None:
            self.member = ConsumerMember(client, membership, member_id, self._history)
            self.member.is_repeated = self._plan.are_repeated
        else:
            self.member = ClassicMember(client, membership, self._history)
        self._task = self._spawn(client.name, self.member.run())
        return self._task

    def _membership(self) -> Membership:
        """A member that behaves asks for the same as the one before it."""
        random, plan = self._random, self._plan
        if self._is_calm and self._latest is not None:
            return replace(self._latest, revocation_s=_REVOCATIONS_S)
        is_stuck = random.random() < plan.stuck_share and not self._is_calm
        protocol = random.choice(plan.protocols) if len(plan.protocols) > 1 else plan.protocols[0]
        return self._subscribed(
            Membership(
                plan.group,
                (),
                self._instance_id,
                random.choice(plan.assignors),
                rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
                version=random.choice((0, 1, 1)),
                revocation_s=(math.inf,) if is_stuck else _REVOCATIONS_S,
                protocol=protocol,
            )
        )

    def _subscribed(self, membership: Membership) -> Membership:
        choices: list[tuple[tuple[str, ...], str | None]] = [(names, "") for names in self._plan.subscriptions]
        if membership.version > 0 and membership.protocol is None:
            choices += [((), pattern) for pattern in self._plan.patterns]
        names, pattern = self._random.choice(choices)
        return replace(membership, names=names, pattern=pattern if self._plan.patterns else None)

    def subscribed(self, topics: Sequence[str]) -> list[str]:
        """Returns the topics to which the member subscribes."""
        assert self.member is not None
        membership = self.member.membership
        pattern = membership.pattern
        return [each for each in topics if each in membership.names or (pattern and re.fullmatch(pattern, each))]

    # -- events

    async def _happen(self) -> None:
        assert self.member is not None
        event = self._random.choice(self._plan.events)
        assert self._client is not None
        self._client.history.counts[f"consumer group: a member {event}"] += 1
        match event:
            case "crashes":
                self._end()
                await self._stay_away()
            case "leaves":
                await self.leave(for_good=not self.is_static or self._random.random() < 0.3)
                await self._stay_away()
            case "pauses":
                self.member.pause(self._random.choice(_PAUSES_S))
            case _:
                self.member.subscribe(self._subscribed(self.member.membership))

    async def _stay_away(self) -> None:
        if not self._is_calm:
            await asyncio.sleep(self._random.choice(_ABSENCES_S))

    def _end(self) -> None:
        """The client ends without a word."""
        assert self.member is not None
        assert self._task is not None
        assert self._client is not None
        self._task.cancel()
        self._client.close()
        self._earlier_commits += self.member.offsets.commits
        self._latest = self.member.membership
        self.member = None

    async def leave(self, *, for_good: bool) -> None:
        """The member leaves, and its client ends."""
        assert self.member is not None
        assert self._task is not None
        assert self._client is not None
        self._task.cancel()
        for _ in range(_LEAVE_ATTEMPTS):
            if await self._spawn_leave(self.member, self._client.name, for_good=for_good):
                break
            await self._client.back_off()
        self._end()

    async def _spawn_leave(self, member: ConsumerMember | ClassicMember, host: str, *, for_good: bool) -> bool:
        left: list[bool] = []

        async def leave() -> None:
            left.append(await member.leave(for_good=for_good))

        await self._spawn(host, leave())
        return left[0]
