"""One connection of a client that speaks ZooKeeper's protocol, to a tree in memory.

Requests run in order, a few in each iteration of the event loop. A client that does not read its responses is not read
either. A frame that is too long or no request, and too many watches, close this connection only; its session lives on.
A client that says one of `four_letter_words` in place of its first message gets the reply, and the connection ends.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import cast

from ....base.quiet_lines import QUIET
from ..loop_calls import LoopCalls
from ..metadata_store import MetadataStoreError, SessionExpiredError, StoreFullError, Watch, WatchEvent
from ..node_rights import Rights, ip_identity
from .four_letter_words import WORDS
from .jute import JuteError
from .memory_tree import MemoryTree, TreeSession
from .wire_requests import Authenticate, CloseSession, Request, SetWatches, decode_connect, decode_request
from .wire_responses import encode_connected, encode_event, encode_reply, error_code, is_failed_login
from .wire_steps import carry_out

__all__ = ["DoorConnection"]

logger = logging.getLogger(__name__)

_MAX_FRAME_BYTES = 0xFFFFF + 1024
"""ZooKeeper's limit ``jute.maxbuffer``, and what it allows beyond."""
_MAX_FIRST_FRAME_BYTES = 1024
_MAX_WATCHES = 100_000
_MAX_WATCHED_CHARS = 16 << 20
_FRAMES_AT_ONCE = 16
_SIZE_BYTES = 4
_NO_PASSWORD = bytes(16)


class DoorConnection(asyncio.Protocol):
    """``calls`` posts to the loop of the connection. ``opened`` and ``closed`` are called with this connection, and
    ``describe`` with one of the words; it returns the reply."""

    _transport: asyncio.Transport

    def __init__(
        self,
        tree: MemoryTree,
        calls: LoopCalls,
        opened: Callable[["DoorConnection"], None],
        closed: Callable[["DoorConnection"], None],
        describe: Callable[[bytes], bytes],
    ) -> None:
        self._tree = tree
        self._calls = calls
        self._opened = opened
        self._closed = closed
        self._describe = describe
        self._loop = asyncio.get_running_loop()
        self._received = bytearray()
        self._is_writing_paused = False
        self._is_reading_paused = False
        self._is_scheduled = False
        self._is_over = False
        self._is_held = False
        self._watched_chars = 0
        """An upper bound of the length of the watched paths."""
        self.session: TreeSession | None = None
        self.began_s = self._loop.time()

    @property
    def peer(self) -> str:
        address, port = self._transport.get_extra_info("peername")[:2]
        return f"/{address}:{port}"

    def close(self) -> None:
        """Close the connection at once. The session stays."""
        self._is_over = True
        self._transport.abort()

    def hold(self) -> None:
        """Carry out nothing until `release`; the connection stays."""
        self._is_held = True
        self._read_or_not()

    def release(self) -> None:
        self._is_held = False
        self._work_later()

    # -- called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's has another base class
        self._opened(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._is_scheduled:
            self._work()

    def pause_writing(self) -> None:
        self._is_writing_paused = True

    def resume_writing(self) -> None:
        self._is_writing_paused = False
        self._work_later()

    def connection_lost(self, _error: Exception | None) -> None:
        self._is_over = True
        if self.session is not None:
            self._tree.leave(self.session, self)
        self._closed(self)

    # -- called by the tree

    def post(self, call: Callable[[], object]) -> None:
        self._calls.post(call)

    def told(self, watch: Watch, event: WatchEvent) -> None:
        watch(event)

    def expired(self) -> None:
        """As in ZooKeeper, the client learns that its session is over when it connects again."""
        self._finish()

    # -- requests

    def _work_later(self) -> None:
        if not self._is_scheduled and not self._is_over:
            self._is_scheduled = True
            self._loop.call_soon(self._work)

    def _work(self) -> None:
        """Run requests that have arrived; the rest follows in the next iteration, or when the client reads again."""
        self._is_scheduled = False
        try:
            for _ in range(_FRAMES_AT_ONCE):
                must_wait = self._is_over or self._is_held or self._is_writing_paused
                frame = None if must_wait else self._next_frame()
                if frame is None:
                    break
                self._take(frame)
            else:
                self._work_later()
        except JuteError as error:
            self._refuse(str(error))
        self._read_or_not()

    def _next_frame(self) -> bytes | None:
        """Raises JuteError."""
        received = self._received
        if len(received) < _SIZE_BYTES:
            return None
        if self.session is None and (word := bytes(received[:_SIZE_BYTES])) in WORDS:
            self._transport.write(self._describe(word))
            self._finish()
            return None
        size = int.from_bytes(received[:_SIZE_BYTES], "big", signed=True)
        most = _MAX_FIRST_FRAME_BYTES if self.session is None else _MAX_FRAME_BYTES
        if not 0 <= size <= most:
            raise JuteError(f"a frame of {size} bytes; at most {most} are taken")
        end = _SIZE_BYTES + size
        if len(received) < end:
            return None
        frame = bytes(received[_SIZE_BYTES:end])
        del received[:end]
        return frame

    def _read_or_not(self) -> None:
        """Stop reading while requests must wait here, so that they stay few."""
        is_full = not self._is_over and (self._is_scheduled or self._is_held or self._is_writing_paused)
        if is_full and not self._is_reading_paused:
            self._transport.pause_reading()
        elif self._is_reading_paused and not is_full and not self._is_over:
            self._transport.resume_reading()
        self._is_reading_paused = is_full

    def _take(self, frame: bytes) -> None:
        """Raises JuteError."""
        if self.session is None:
            self._greet(frame)
            return
        xid, request = decode_request(frame)
        if isinstance(request, SetWatches) or getattr(request, "watch", False):
            self._check_watches(self.session, len(frame))
        self._tree.perform(
            self.session,
            lambda session: carry_out(self._tree, session, self._send_event, xid, request),
            lambda outcome: self._answer(xid, request, outcome),
        )

    def _check_watches(self, session: TreeSession, more: int) -> None:
        """Raises JuteError when the watches of the session take too much memory."""
        if len(session.watches) >= _MAX_WATCHES:
            raise JuteError(f"more than {_MAX_WATCHES} watches")
        self._watched_chars += more
        if self._watched_chars > 2 * _MAX_WATCHED_CHARS:
            self._watched_chars = session.watches.size_chars
            if self._watched_chars > _MAX_WATCHED_CHARS:
                raise JuteError(f"the paths of the watches take more than {_MAX_WATCHED_CHARS} characters")

    def _greet(self, frame: bytes) -> None:
        wish = decode_connect(frame)
        rights = Rights([ip_identity(self._transport.get_extra_info("peername")[0])])
        try:
            if wish.session_id:
                session = self._tree.resume(wish.session_id, wish.password, self, rights)
            else:
                session = self._tree.begin(wish.timeout_ms, self, rights)
        except StoreFullError as error:
            self._refuse(str(error))
            return
        except SessionExpiredError:
            self._transport.write(encode_connected(0, 0, _NO_PASSWORD, has_read_only=wish.has_read_only))
            self._finish()
            return
        self.session = session
        self._opened(self)
        self._transport.write(
            encode_connected(session.timeout_ms, session.session_id, session.password, has_read_only=wish.has_read_only)
        )

    # -- responses

    def _answer(self, xid: int, request: Request, outcome: bytes | MetadataStoreError) -> None:
        if self._is_over:
            return
        if isinstance(outcome, MetadataStoreError):
            self._transport.write(encode_reply(xid, 0, error_code(outcome)))
            self._finish()
            return
        self._transport.write(outcome)
        is_refused = isinstance(request, Authenticate) and is_failed_login(outcome)
        if is_refused or isinstance(request, CloseSession):
            self._finish()

    def _send_event(self, event: WatchEvent) -> None:
        if not self._is_over:
            self._transport.write(encode_event(event))

    def _refuse(self, reason: str) -> None:
        logger.warning("metadata store: the connection of %s is closed: %s", self.peer, reason, extra=QUIET)
        self.close()

    def _finish(self) -> None:
        """Close the connection when everything is sent."""
        self._is_over = True
        self._transport.close()
