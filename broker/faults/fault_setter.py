"""The words that set faults: the methods of everything on which a test can set them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Generic, Self, TypeVar, Unpack

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.errors import ErrorCode, error_for
from ..requests.failures import failure_response
from .effects import Break, Corrupt, Delay, Effect, Fail, Hang, RefuseConnections, Throttle, Way
from .target import EVERY_API, Target, Where
from .words import WordError, seconds, unknown, unknown_word, whole_number

__all__ = ["FaultSetter", "FaultT", "SetFault", "counts_of"]

MAX_MS = 24 * 60 * 60 * 1000
MAX_CUT_BYTES = 1024 * 1024


class SetFault(AbstractContextManager["SetFault"], ABC):
    """A fault that was set, until it is removed: by `remove`, or at the end of a ``with``."""

    id: int
    target: Target
    effect: Effect
    times: int | None
    after: int

    @property
    @abstractmethod
    def is_active(self) -> bool:
        """Whether it may fire again."""

    @property
    @abstractmethod
    def fired(self) -> int:
        """How often it has fired."""

    @abstractmethod
    def remove(self) -> None:
        """End the fault. Requests that wait because of it start now, and `wait_fired` waits no longer."""

    @abstractmethod
    def wait_fired(self, count: int = 1, timeout_s: float | None = None) -> None:
        """Block until the fault has fired ``count`` times. Raises TimeoutError, also when it is removed before, and
        ValueError. Not for the broker's own loop."""

    @staticmethod
    def check_wait(count: int, timeout_s: float | None) -> None:
        """Raises ValueError for a negative count or time, and for a value that is no number."""
        whole_number(count, "count", 0)
        if timeout_s is not None:
            seconds(timeout_s, "timeout_s")

    def __str__(self) -> str:
        api = "" if isinstance(self.effect, RefuseConnections) else f" on {self.target.api_name}"
        return f"fault {self.id} ({self.effect}{api})"

    def __repr__(self) -> str:
        return f"<{self}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


FaultT = TypeVar("FaultT", bound=SetFault)


class FaultSetter(ABC, Generic[FaultT]):
    """Every method may be called on any thread. A fault counts from the moment when the method returns.

    ``api`` is Kafka's name, such as ``Fetch``; ``"*"`` means every API, except for `error` and `throttle`. The methods
    raise ValueError with a plain line for words that have no meaning.
    """

    def error(self, api: str, code: str, **where: Unpack[Where]) -> FaultT:
        """Matching requests are not carried out and get the error ``code``, such as ``NOT_COORDINATOR``.

        A request that names several topics, partitions or groups gets it for those that match; the others are served.
        """
        target = Target.of(api, where)
        found = _code_named(code)
        _check_can_hold(target, found)
        return self._set(target, Fail(found), where)

    def delay(self, api: str, ms: int, jitter_ms: int = 0, **where: Unpack[Where]) -> FaultT:
        """Matching requests start after ``ms``, and at random up to ``jitter_ms`` later, or when the fault is removed.
        Later requests of the connection wait behind them."""
        effect = Delay(whole_number(ms, "ms", 0, MAX_MS), whole_number(jitter_ms, "jitter_ms", 0, MAX_MS))
        return self._set(Target.of(api, where), effect, where)

    def hang(self, api: str, **where: Unpack[Where]) -> FaultT:
        """Matching requests start when the fault is removed. A request whose client went away never starts."""
        return self._set(Target.of(api, where), Hang(), where)

    def drop_request(self, api: str, **where: Unpack[Where]) -> FaultT:
        """Matching requests are not carried out; their connections are closed."""
        return self._set(Target.of(api, where), Break(Way.BEFORE), where)

    def drop_response(self, api: str, **where: Unpack[Where]) -> FaultT:
        """Matching requests are carried out; their connections are closed without the response."""
        return self._set(Target.of(api, where), Break(Way.AFTER), where)

    def reset(self, api: str, **where: Unpack[Where]) -> FaultT:
        """Matching requests are not carried out; their connections are reset."""
        return self._set(Target.of(api, where), Break(Way.RESET), where)

    def cut_after(self, api: str, size_bytes: int, **where: Unpack[Where]) -> FaultT:
        """Matching requests are carried out; of the response, with the four bytes of its size, so many bytes are sent,
        then the connection is closed."""
        effect = Break(Way.WITHIN, whole_number(size_bytes, "size_bytes", 0, MAX_CUT_BYTES))
        return self._set(Target.of(api, where), effect, where)

    def corrupt(self, **where: Unpack[Where]) -> FaultT:
        """A batch of each matching partition in a Fetch response has one wrong bit, so that its checksum is wrong."""
        return self._set(Target.of(API_SPECS[ApiKey.FETCH].name, where), Corrupt(), where)

    def throttle(self, api: str, ms: int, **where: Unpack[Where]) -> FaultT:
        """Matching requests are carried out, and their clients throttled for ``ms``, as by a quota."""
        target = Target.of(api, where)
        if target.api is None:
            raise ValueError("throttle needs one API")
        if not any(field.name == "throttle_time_ms" for field in API_SPECS[target.api].response_type().SCHEMA.fields):
            raise ValueError(f"{API_SPECS[target.api].name} responses have no throttle time")
        return self._set(target, Throttle(whole_number(ms, "ms", 0, MAX_MS)), where)

    def refuse_connections(self, *, times: int | None = None, after: int = 0) -> FaultT:
        """New connections are closed at once. Open ones go on."""
        where = Where(times=times, after=after)
        return self._set(Target.of(EVERY_API, where), RefuseConnections(), where)

    @abstractmethod
    def all(self) -> Sequence[FaultT]:
        """The faults that were set and not removed, in their order, with those that have fired ``times`` times."""

    def clear(self) -> None:
        """Remove all faults."""
        for fault in self.all():
            fault.remove()

    @abstractmethod
    def _set(self, target: Target, effect: Effect, where: Where) -> FaultT:
        """Set a fault. Raises ValueError for words of ``where`` without a meaning."""


def counts_of(where: Where) -> tuple[int | None, int]:
    """``times`` and ``after``. Raises ValueError for such that are no counts, and for words that do not exist."""
    for word in where:
        if word not in Where.__annotations__:
            raise ValueError(unknown_word("word", word, Where.__annotations__))
    times, after = where.get("times"), where.get("after")
    return (
        None if times is None else whole_number(times, "times", 1),
        0 if after is None else whole_number(after, "after", 0),
    )


def _code_named(name: str) -> ErrorCode:
    if not isinstance(name, str):
        raise WordError("code", "a name such as NOT_COORDINATOR", name)
    try:
        code = ErrorCode[name.upper()]
    except KeyError:
        known = {each.replace("_", "").lower(): each for each in ErrorCode.__members__}
        raise ValueError(unknown("error code", name, known)) from None
    if code is ErrorCode.NONE:
        raise ValueError("NONE is no error")
    return code


def _check_can_hold(target: Target, code: ErrorCode) -> None:
    """Raises ValueError when the API has no place for an error code."""
    if target.api is None:
        raise ValueError("error needs one API")
    spec = API_SPECS[target.api]
    try:
        failure_response(target.api, spec.max_version, spec.request_type()(), error_for(code))
    except NotImplementedError:
        raise ValueError(f"{spec.name} responses have no place for an error code") from None
