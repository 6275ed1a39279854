"""The timers of members of consumer groups that use the classic protocol: for their next JoinGroup and SyncGroup.

A member that was told to join again, or that has joined, is removed when the next request does not come within its
rebalance timeout.
"""

from collections.abc import Callable, Iterable
from enum import Enum

from .....base.timers import Scheduler, TimerHandle
from ..consumer.consumer_group import ConsumerGroup
from ..consumer.member import ConsumerMember
from ..consumer.records import GroupRecord, MemberMetadata, RecordKind, Removed

__all__ = ["AwaitedRequest", "ClassicTimers"]


class AwaitedRequest(Enum):
    """The request that the coordinator waits for. The value is the reason for the member's removal."""

    JOIN = "it has not joined again within its rebalance timeout"
    SYNC = "it has not sent a SyncGroup within its rebalance timeout"


class ClassicTimers:
    """``remove`` is called with a group, a member id and the reason in words, when a time is over.

    ``grace_ms``: how many more ms a member of a group gets then; 0: none.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        remove: Callable[[ConsumerGroup, str, str], None],
        grace_ms: Callable[[ConsumerGroup, str], int],
    ) -> None:
        self._scheduler = scheduler
        self._remove = remove
        self._grace_ms = grace_ms
        self._timers: dict[str, dict[tuple[str, AwaitedRequest], TimerHandle]] = {}
        """By group id, then by member id and request."""

    def wait(self, group: ConsumerGroup, member_id: str, request: AwaitedRequest) -> None:
        """Wait for the member's request. A wait that has begun goes on."""
        if (member_id, request) not in self._timers.get(group.group_id, {}):
            self._expect(group, member_id, request, max(group.members[member_id].metadata.rebalance_timeout_ms, 0))

    def begin_anew(self, group: ConsumerGroup, is_alive: Callable[[ConsumerMember], bool]) -> None:
        """Begin the waits for members that are alive anew: their clients could not see that the clock moved."""
        for member_id, request in list(self._timers.get(group.group_id, {})):
            if is_alive(group.members[member_id]):
                self.came(group, member_id, request)
                self.wait(group, member_id, request)

    def _expect(self, group: ConsumerGroup, member_id: str, request: AwaitedRequest, timeout_ms: int) -> None:
        timer = self._scheduler.call_later(timeout_ms / 1000, self._due, group, member_id, request)
        self._timers.setdefault(group.group_id, {})[member_id, request] = timer

    def came(self, group: ConsumerGroup, member_id: str, request: AwaitedRequest) -> None:
        """The member's request has come."""
        timers = self._timers.get(group.group_id, {})
        timer = timers.pop((member_id, request), None)
        if timer is not None:
            timer.cancel()
            if not timers:
                del self._timers[group.group_id]

    def follow(self, group: ConsumerGroup, records: Iterable[GroupRecord]) -> None:
        """The group has changed by these records: members may be gone, or use the other protocol."""
        if group.group_id not in self._timers:
            return
        for record in records:
            if isinstance(record, Removed) and record.kind is RecordKind.MEMBER:
                self._forget(group, record.name)
            elif isinstance(record, MemberMetadata) and record.classic is None:
                self._forget(group, record.member_id)

    def end(self, group: ConsumerGroup) -> None:
        """The group was deleted, has another type now, or is coordinated by another broker."""
        for timer in self._timers.pop(group.group_id, {}).values():
            timer.cancel()

    def _forget(self, group: ConsumerGroup, member_id: str) -> None:
        for request in AwaitedRequest:
            self.came(group, member_id, request)

    def _due(self, group: ConsumerGroup, member_id: str, request: AwaitedRequest) -> None:
        self.came(group, member_id, request)
        if grace_ms := self._grace_ms(group, member_id):
            self._expect(group, member_id, request, grace_ms)
        else:
            self._remove(group, member_id, request.value)
