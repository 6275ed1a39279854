"""The login of a connection as its frame gate: gives frames to the login gate, and carries out its actions.

**Limits.** A failed login is answered after its delay, and nothing else of the connection is read meanwhile.
"""

import asyncio
from collections.abc import Callable

from ..security.login_actions import Action, Admission, Answer, Authenticated, Close, PassOn
from ..security.login_gate import LoginGate
from .frame_gate import GateReply
from .offender_log import Violation
from .request import CloseConnectionError, ConnectionInfo, LaterReply, ReplyPart

__all__ = ["LoginFrameGate"]


class LoginFrameGate:
    """A `FrameGate`. ``now_ms``: monotonic clock. ``refused`` is told why a login failed, for the log."""

    def __init__(
        self,
        gate: LoginGate,
        info: ConnectionInfo,
        now_ms: Callable[[], int],
        refused: Callable[[ConnectionInfo, str], None],
    ) -> None:
        self._gate = gate
        self._info = info
        self._now_ms = now_ms
        self._refused = refused
        self._has_logged_in = False

    @property
    def max_frame_bytes(self) -> int | None:
        return self._gate.max_frame_bytes

    def expects(self, frame: bytearray) -> bool:
        return self._gate.expects(_api_of(frame), self._now_ms())

    def take(self, frame: bytearray, received_ms: int) -> GateReply | None:
        now_ms = self._now_ms()
        if self._gate.is_open:
            admission = self._gate.admit(_api_of(frame), now_ms)
            if admission is Admission.DISPATCH:
                return None
            if admission is Admission.CLOSE:
                self._info.counters.expired_sessions += 1
                raise CloseConnectionError("the session has ended", Violation.REFUSED_REQUEST)
        reply: GateReply | None = None
        for action in self._gate.frame(bytes(frame), now_ms=now_ms, wall_ms=received_ms):
            reply = self._carried_out(action) or reply
        return reply

    def _carried_out(self, action: Action) -> GateReply | None:
        match action:
            case PassOn():
                return None
            case Answer(frame):
                return GateReply([frame])
            case Authenticated(principal):
                self._info.principal = principal
                if not self._has_logged_in:
                    self._has_logged_in = True
                    self._info.counters.logins_succeeded += 1
                return None
            case Close(reason, 0, None):
                self._count_failure()
                raise CloseConnectionError(reason, Violation.REFUSED_REQUEST)
            case Close(reason, delay_ms, frame):
                self._count_failure()
                if frame is not None:  # otherwise the end of the connection is logged
                    self._refused(self._info, reason)
                return GateReply(_delayed(frame, delay_ms, reason), closes=True)

    def _count_failure(self) -> None:
        if not self._has_logged_in:
            self._info.counters.logins_failed += 1


def _api_of(frame: bytearray) -> int:
    return int.from_bytes(frame[:2], "big", signed=True)


def _delayed(frame: bytes | None, delay_ms: int, reason: str) -> LaterReply:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def elapsed() -> None:
        if not future.done():
            future.set_result(None)

    loop.call_later(delay_ms / 1000, elapsed)

    def settle() -> list[ReplyPart] | None:
        if frame is None:
            raise CloseConnectionError(f"its login failed: {reason}", Violation.LOGIN)
        return [frame]

    return LaterReply(future, settle)
