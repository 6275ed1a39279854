"""The faults of one broker, or of all brokers of a cluster: what a test calls to set them.

    with broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders", times=3) as fault:
        ...
    assert fault.fired == 3

Faults are tried in the order in which they were set, and the first that matches wins. A fault set without a ``client``
is for clients: fetches of other brokers' followers pass it.
"""

import asyncio
import threading
from collections.abc import Callable
from itertools import count
from typing import Any, Unpack
from uuid import UUID

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.errors import ErrorCode, error_for
from ..network.listener import Listeners
from ..requests.dispatch import Dispatcher
from ..requests.failures import failure_response
from .effects import Break, Corrupt, Delay, Effect, Fail, Hang, RefuseConnections, Throttle, Way
from .fault import Fault
from .fault_switch import FaultSwitch
from .target import EVERY_API, Target, Where, unknown, whole_number

__all__ = ["MOST_FAULTS", "Faults"]

MOST_FAULTS = 1000
MAX_MS = 24 * 60 * 60 * 1000
MAX_CUT_BYTES = 1024 * 1024


class Faults:
    """Every method may be called on any thread. A fault counts from the moment when the method returns.

    ``api`` is Kafka's name, such as ``Fetch``; ``"*"`` means every API, except for `error` and `throttle`. The methods
    raise ValueError with a plain line for words that have no meaning.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._faults: dict[int, Fault] = {}
        self._active: tuple[Fault, ...] = ()
        self._switches: tuple[FaultSwitch, ...] = ()

    # -- what a test calls

    def error(self, api: str, code: str, **where: Unpack[Where]) -> Fault:
        """Matching requests are not carried out and get the error ``code``, such as ``NOT_COORDINATOR``.

        A request that names several topics, partitions or groups gets it for those that match; the others are served.
        """
        target = Target.of(api, where)
        found = _code_named(code)
        _check_can_hold(target, found)
        return self._set(target, Fail(found), where)

    def delay(self, api: str, ms: int, jitter_ms: int = 0, **where: Unpack[Where]) -> Fault:
        """Matching requests start after ``ms``, and at random up to ``jitter_ms`` later, or when the fault is removed.
        Later requests of the connection wait behind them."""
        effect = Delay(_up_to(ms, "ms", MAX_MS), _up_to(jitter_ms, "jitter_ms", MAX_MS))
        return self._set(Target.of(api, where), effect, where)

    def hang(self, api: str, **where: Unpack[Where]) -> Fault:
        """Matching requests start when the fault is removed. A request whose client went away never starts."""
        return self._set(Target.of(api, where), Hang(), where)

    def drop_request(self, api: str, **where: Unpack[Where]) -> Fault:
        """Matching requests are not carried out; their connections are closed."""
        return self._set(Target.of(api, where), Break(Way.BEFORE), where)

    def drop_response(self, api: str, **where: Unpack[Where]) -> Fault:
        """Matching requests are carried out; their connections are closed without the response."""
        return self._set(Target.of(api, where), Break(Way.AFTER), where)

    def reset(self, api: str, **where: Unpack[Where]) -> Fault:
        """Matching requests are not carried out; their connections are reset."""
        return self._set(Target.of(api, where), Break(Way.RESET), where)

    def cut_after(self, api: str, size_bytes: int, **where: Unpack[Where]) -> Fault:
        """Matching requests are carried out; of the response, with the four bytes of its size, so many bytes are sent,
        then the connection is closed."""
        effect = Break(Way.WITHIN, _up_to(size_bytes, "size_bytes", MAX_CUT_BYTES))
        return self._set(Target.of(api, where), effect, where)

    def corrupt(self, **where: Unpack[Where]) -> Fault:
        """A batch of each matching partition in a Fetch response has one wrong bit, so that its checksum is wrong."""
        return self._set(Target.of(API_SPECS[ApiKey.FETCH].name, where), Corrupt(), where)

    def throttle(self, api: str, ms: int, **where: Unpack[Where]) -> Fault:
        """Matching requests are carried out, and their clients throttled for ``ms``, as by a quota."""
        target = Target.of(api, where)
        if target.api is None:
            raise ValueError("throttle needs one API")
        if not any(field.name == "throttle_time_ms" for field in API_SPECS[target.api].response_type().SCHEMA.fields):
            raise ValueError(f"{API_SPECS[target.api].name} responses have no throttle time")
        return self._set(target, Throttle(_up_to(ms, "ms", MAX_MS)), where)

    def refuse_connections(self, *, times: int | None = None, after: int = 0) -> Fault:
        """New connections are closed at once. Open ones go on."""
        where = Where(times=times, after=after)
        return self._set(Target.of(EVERY_API, where), RefuseConnections(), where)

    def all(self) -> list[Fault]:
        """The faults that were set and not removed, in their order, with those that have fired ``times`` times."""
        with self._lock:
            return list(self._faults.values())

    def clear(self) -> None:
        """Remove all faults."""
        for fault in self.all():
            fault.remove()

    # -- the broker that has them

    def attach(self, listeners: Listeners, topic_name: Callable[[UUID], str | None]) -> None:
        """Act on these listeners from now on. To be called on their loop, before they accept connections."""
        dispatcher = listeners.handler
        assert isinstance(dispatcher, Dispatcher)
        switch = FaultSwitch(listeners, dispatcher, asyncio.get_running_loop(), topic_name, lambda: self._active)
        with self._lock:
            self._switches = (*(each for each in self._switches if not each.loop.is_closed()), switch)
        switch.changed()

    def detach(self, listeners: Listeners) -> None:
        """The broker of these listeners ends: requests that hang start, so that its end need not wait for them."""
        with self._lock:
            ended = [each for each in self._switches if each.listeners is listeners]
            self._switches = tuple(each for each in self._switches if each.listeners is not listeners)
        for switch in ended:
            switch.close()

    # -- internal

    def _set(self, target: Target, effect: Effect, where: Where) -> Fault:
        times: Any = where.get("times")
        unknown_words = set(where) - set(Where.__annotations__)
        if unknown_words:
            raise ValueError(
                f"there is no {', '.join(sorted(unknown_words))}; there are {', '.join(Where.__annotations__)}"
            )
        fault = Fault(
            next(self._numbers),
            target,
            effect,
            whole_number(times, "times", 1),
            whole_number(where.get("after", 0), "after", 0) or 0,
            self._ended,
        )
        with self._lock:
            if len(self._faults) >= MOST_FAULTS:
                raise ValueError(f"{MOST_FAULTS} faults are set; remove some")
            self._faults[fault.id] = fault
        self._changed()
        return fault

    def _ended(self, fault: Fault) -> None:
        if fault.is_removed:
            with self._lock:
                self._faults.pop(fault.id, None)
        self._changed()
        if fault.is_removed:
            for switch in self._switches:
                switch.release(fault)

    def _changed(self) -> None:
        with self._lock:
            self._active = tuple(fault for fault in self._faults.values() if fault.is_active)
        for switch in self._switches:
            switch.changed()


def _code_named(name: str) -> ErrorCode:
    if not isinstance(name, str):
        raise ValueError(f"an error code is a name such as 'NOT_COORDINATOR', not {name!r}")
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


def _up_to(value: int, name: str, most: int) -> int:
    number = whole_number(value, name, 0)
    if number is None or number > most:
        raise ValueError(f"{name} is a whole number from 0 to {most}, not {value!r}")
    return number
