"""A gate of a connection for tests: it records the frames that it sees, and answers as the test says."""

from collections.abc import Callable

from pybroker.broker.network.frame_gate import GateReply
from pybroker.broker.network.request import ConnectionInfo

__all__ = ["ScriptedGate"]


class ScriptedGate:
    """Lets all frames pass until ``answer`` is set."""

    def __init__(self, info: ConnectionInfo) -> None:
        self.info = info
        self.seen: list[bytes] = []
        self.max_frame_bytes: int | None = None
        self.answer: Callable[[bytes], GateReply | None] = lambda frame: None

    def expects(self, frame: bytearray) -> bool:
        return False

    def take(self, frame: bytearray, received_ms: int) -> GateReply | None:
        self.seen.append(bytes(frame))
        return self.answer(bytes(frame))
