"""The response to one heartbeat, which waits for its records and, in a large group, for the target assignment.

**Why.** Kafka computes the target within the heartbeat that makes it necessary. Here the target of a large group is
computed in turns of the event loop. If the heartbeat were answered before, the member would get its partitions only by
the next one, a heartbeat interval later.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, Self, TypeVar

from .....protocol.errors import ErrorCode, KafkaError
from .heartbeat_answer import HeartbeatAnswer, HeartbeatReply, refused
from .target_runs import TargetRunsOf

__all__ = ["PendingReply"]


_JOIN_EPOCH = 0


class _AnyHeartbeat(Protocol):
    @property
    def group_id(self) -> str: ...

    @property
    def member_epoch(self) -> int: ...

    def _replace(self, *, member_id: str = ..., member_epoch: int = ...) -> Self: ...


R = TypeVar("R", bound=_AnyHeartbeat)


class PendingReply:
    """A response that is sent once: after `send` when its records are written, or after `hold` with the target."""

    def __init__(self, reply: HeartbeatReply) -> None:
        self._reply = reply
        self._written: HeartbeatAnswer | None = None
        self._may_send = False
        self._is_told = False

    def written(self, answer: HeartbeatAnswer) -> None:
        """The records are written on which this answer depends, or are not: then it has an error."""
        if self._may_send or answer.error is not ErrorCode.NONE:
            self._tell(answer)
        self._written = answer

    def send(self) -> None:
        """The response waits for its records only."""
        self._may_send = True
        if self._written is not None:
            self._tell(self._written)

    def hold(
        self,
        targets: TargetRunsOf[Any],
        request: R,
        first: HeartbeatAnswer,
        decide: Callable[[R, HeartbeatReply], HeartbeatAnswer],
    ) -> None:
        """If a target is being computed, wait for it, and then decide what the member gets of it. Else see `send`.

        ``first``: the decision until now. ``decide``: raises KafkaError when the request is refused.
        """
        if not targets.after_own(request.group_id, partial(self._go_on, request, first, decide)):
            self.send()

    def _go_on(
        self,
        request: R,
        first: HeartbeatAnswer,
        decide: Callable[[R, HeartbeatReply], HeartbeatAnswer],
        failure: KafkaError | None,
    ) -> None:
        """Decide as if this were the member's next heartbeat. The old target stays when there is no new one.

        ``failure``: why there is none. When there is no memory for it, a member that does not join goes on as before.
        """
        if self._is_told:  # the records of the first decision were not written
            return
        if failure is not None:
            keeps_its_own = failure.code is ErrorCode.GROUP_MAX_SIZE_REACHED and request.member_epoch != _JOIN_EPOCH
            self._tell(first if keeps_its_own else refused(failure))
            return

        def written(answer: HeartbeatAnswer) -> None:
            has_to_know = answer.error is ErrorCode.NONE and answer.assignment is None
            self._tell(answer._replace(assignment=first.assignment) if has_to_know else answer)

        try:
            decide(request._replace(member_id=first.member_id, member_epoch=first.member_epoch), written)
        except KafkaError as error:
            self._tell(refused(error))

    def _tell(self, answer: HeartbeatAnswer) -> None:
        if not self._is_told:
            self._is_told = True
            self._reply(answer)
