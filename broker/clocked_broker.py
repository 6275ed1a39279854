"""A running broker whose clock tests move: what the clock does with its groups, transactions, connections and logs.

The clock must know which members have an open connection, so the handlers in `_WATCHED` note it. A broker that keeps to
real time has `Unclocked` in this place.
"""

import asyncio
from collections.abc import Awaitable, Container, Iterable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakValueDictionary

from ..protocol.apis import ApiKey
from ..protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from ..protocol.messages.join_group import JoinGroupRequest
from ..storage.store.store_schedule import StoreSchedule
from .apis.broker_parts import BrokerParts
from .coordinator.group.consumer.consumer_group import ConsumerGroup
from .coordinator.group.consumer.member import ConsumerMember
from .coordinator.group.coordinator import GroupCoordinator
from .coordinator.group.group import Group
from .coordinator.group.member import Member
from .coordinator.group.share.records import ShareMember
from .coordinator.group.share.share_group import ShareGroup
from .coordinator.transaction.transaction import Transaction
from .environment import Environment
from .network.connection import Connection
from .network.listener import Listeners
from .network.managed_connection import ManagedConnection
from .network.request import ConnectionInfo
from .open_parts import OpenParts
from .requests.context import Handler, RequestContext

if TYPE_CHECKING:  # not needed by a broker that keeps to real time
    from .clock.clocks import TestClock
    from .clock.moves import TimerMove

__all__ = ["ClockedBroker", "Unclocked", "clocked_broker"]

AnyMember = Member | ConsumerMember | ShareMember
Handlers = Mapping[ApiKey, Handler]

_WATCHED = (
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.OFFSET_COMMIT,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_HEARTBEAT,
)
_JOIN_WITH_ID_VERSION = 4
"""From this version of JoinGroup on a dynamic member joins with an id."""
_HEARTBEAT_WITH_ID_VERSION = 1
"""From this version of ConsumerGroupHeartbeat on a member joins with an id."""
_MOST_NOTED = 100_000
_STUCK_S = 5.0
"""How long one move waits for markers of transactions that were ending before it: their leader may not answer."""
_TURNS = 2
"""Iterations of the loop in which what a timer began becomes visible as work of a coordinator."""


class Unclocked:
    """In place of a `ClockedBroker` in a broker that keeps to real time."""

    def watched(self, handlers: Handlers) -> Handlers:
        """The handlers as they are."""
        return handlers

    def follow(self, listeners: Listeners) -> None:
        """Do nothing."""


class ClockedBroker:
    """Implements `ClockedParts`, whose docstrings are not repeated. To be made on the broker's loop."""

    def __init__(self, clock: "TestClock", parts: BrokerParts, store: StoreSchedule) -> None:
        self._moves = clock.moves
        self._loop = asyncio.get_running_loop()
        self._timers = clock.moves.timers_on(self._loop)
        self._groups = parts.coordinators.groups
        self._transactions = parts.coordinators.transactions
        self._store = store
        self._listeners: Listeners | None = None
        self._move: TimerMove | None = None
        self._ending: frozenset[object] = frozenset()
        """Connections that a client had closed before a move, and that only finish what is under way."""
        self._connections: WeakValueDictionary[str, ConnectionInfo] = WeakValueDictionary()
        """By member id, the connection of the member's last request."""
        self._busy_before: set[Transaction] = set()
        """Transactions that were ending before a move, and may go on to wait for a leader."""
        self._until_s = 0.0
        """Until this time of the loop a move waits for them."""

    def watched(self, handlers: Handlers) -> Handlers:
        """The handlers; those of members also note the member's connection."""
        watched: dict[ApiKey, Handler] = {
            key: partial(self._handle, handlers[key]) for key in _WATCHED if key in handlers
        }
        return {**handlers, **watched}

    def follow(self, listeners: Listeners) -> None:
        """Follow the clock from now on. ``listeners`` have no connection yet; their idle ones follow it too."""
        self._listeners = listeners
        listeners.idle.use_timers(self._timers)
        self._moves.follow(self, self._loop)

    def close(self) -> None:
        """Follow the clock no more."""
        self._moves.forget(self, self._loop)

    async def do_due_work(self) -> None:
        self._begin()
        self._transactions.abort_overdue()
        await self._until_transactions_settle()
        await self._store.do_due_work()
        # After the round of compaction: what expires only writes records, which a later round compacts.
        self._transactions.expire_unused()
        self._groups.administration.expire()
        await self._groups.settled()
        self._transactions.retry_markers()
        await self._until_transactions_settle()

    def begin_move(self, move: "TimerMove") -> None:
        self._move = move
        self._begin()
        self._groups.give_grace(self._grace_ms)
        self._groups.consumers.give_grace(lambda member: self._grace_ms([member]))
        if self._groups.shares is not None:
            self._groups.shares.give_grace(lambda member: self._grace_ms([member]))
        if self._listeners is not None:
            self._ending = frozenset(each.info for each in self._listeners.connections() if each.is_ending)
            self._listeners.idle.spares = self._is_of_living_member

    async def settle(self) -> None:
        for _ in range(_TURNS):
            await asyncio.sleep(0)
        await self._groups.settled()
        await self._until_transactions_settle()

    async def end_move(self) -> None:
        self._transactions.abort_overdue()
        self._transactions.retry_markers()
        await self.settle()
        await self._store.deletions_done()

    def abandon_move(self) -> None:
        self._groups.end_grace(self._is_alive)
        self._groups.consumers.end_grace(self._is_alive)
        if self._groups.shares is not None:
            self._groups.shares.end_grace(self._is_alive)
        if self._listeners is not None:
            self._listeners.idle.end_sparing()
        self._move = None

    def _begin(self) -> None:
        """Try again the markers that wait for an attempt. A paused broker would not answer, so it is not waited for."""
        self._busy_before = self._transactions.busy()
        self._until_s = self._loop.time() + (0.0 if self._moves.is_any_standing() else _STUCK_S)
        self._transactions.retry_markers()

    def _until_transactions_settle(self) -> Awaitable[None]:
        return self._transactions.settled(self._busy_before, self._until_s)

    # -- which members are alive

    def _handle(self, handler: Handler, context: RequestContext, request: Any) -> Any:
        """Handle the request, and note the connection of the member that sent it."""
        response = handler(context, request)
        member_id = _member_of(self._groups, self._connections, context, request)
        if member_id is not None:
            if len(self._connections) >= _MOST_NOTED:
                self._connections.clear()  # the next heartbeats of members note them again
            self._connections[member_id] = context.address
        return response

    def _grace_ms(self, members: Iterable[AnyMember]) -> int:
        """Until the end of the move, if any of the members is alive."""
        if self._move is None or not any(map(self._is_alive, members)):
            return 0
        return max(int((self._move.goal_s - self._timers.time()) * 1000), 0) + 1

    def _is_alive(self, member: AnyMember) -> bool:
        move, info = self._move, self._connections.get(member.member_id)
        if move is None or not move.keep_alive or info is None or not info.is_open or info in self._ending:
            return False
        return move.silent.isdisjoint((member.member_id, member.client_id, member.group_instance_id or ""))

    def _is_of_living_member(self, connection: ManagedConnection) -> bool:
        info = cast("Connection", connection).info
        return any(
            self._connections.get(member.member_id) is info and self._is_alive(member) for member in self._members()
        )

    def _members(self) -> Iterator[AnyMember]:
        for group in self._groups.registry.groups():
            if isinstance(group, Group | ConsumerGroup | ShareGroup):
                yield from group.members.values()


def clocked_broker(
    environment: Environment, parts: BrokerParts, store: StoreSchedule, open_parts: OpenParts
) -> ClockedBroker | Unclocked:
    """Make the part that follows the clock of the environment, and register in ``open_parts`` how it ends."""
    if environment.test_clock is None:
        return Unclocked()
    broker = ClockedBroker(environment.test_clock, parts, store)
    open_parts.add(broker.close, broker.close)
    return broker


def _member_of(groups: GroupCoordinator, known: Container[str], context: RequestContext, request: Any) -> str | None:
    """The id of the member that sent the request; a new one has it from this request, and is not ``known`` yet."""
    group = groups.registry.get(request.group_id)
    if not isinstance(group, Group | ConsumerGroup | ShareGroup):
        return None
    if request.member_id in group.members:
        return str(request.member_id)
    if isinstance(group, ShareGroup):
        return None  # a member of a share group chooses its id
    is_heartbeat = isinstance(request, ConsumerGroupHeartbeatRequest)
    instance_id = request.instance_id if is_heartbeat else request.group_instance_id
    if instance_id is not None:
        return group.static_members.get(instance_id)
    with_id = _HEARTBEAT_WITH_ID_VERSION if is_heartbeat else _JOIN_WITH_ID_VERSION
    if isinstance(request, JoinGroupRequest | ConsumerGroupHeartbeatRequest) and context.api_version < with_id:
        newest = next(reversed(cast("dict[str, AnyMember]", group.members).values()), None)
        if newest is not None and newest.member_id not in known and newest.client_id == (context.client_id or ""):
            return newest.member_id
    return None
