"""Faults on brokers in processes of their own, set over HTTP.

**Limits.** Each broker counts ``times`` and ``after`` of its requests alone. The last counts of a broker are lost when
something else than the cluster kills it.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count

from ...faults.effects import Effect
from ...faults.fault_setter import FaultSetter, SetFault, counts_of
from ...faults.target import Target, Where
from ...test_kit.act_error import ActError
from ...test_kit.fault_words import words_of
from .kit_client import KitClient

__all__ = ["RemoteFaults"]

_BETWEEN_LOOKS_S = 0.01
_LAST_LOOK_S = 0.5

Kits = Callable[[], Mapping[int, KitClient]]


@dataclass(slots=True)
class _Place:
    """A fault on one run of a broker, whose next run may give its ``number`` to another fault."""

    kit: KitClient
    number: int
    fired: int = 0


class RemoteFault(SetFault):
    """A fault on some brokers. ``gone`` is told when it is removed."""

    def __init__(self, number: int, target: Target, effect: Effect, where: Where, broker: int | None) -> None:
        self.id = number
        self.target = target
        self.effect = effect
        self.times, self.after = counts_of(where)
        self.broker = broker
        self.words = words_of(target, effect, where)
        self.is_removed = False
        self.gone: Callable[[RemoteFault], None] = _nothing
        self._places: dict[int, _Place] = {}
        self._all_places: list[_Place] = []
        """Also those of runs that are over."""

    def place(self, broker: int, kit: KitClient) -> None:
        """Set it on a broker."""
        place = self._places[broker] = _Place(kit, kit.set_fault(self.words))
        self._all_places.append(place)

    def leave(self, broker: int) -> None:
        """The broker is about to end: count a last time."""
        place = self._places.pop(broker, None)
        if place is not None:
            with suppress(ActError, ValueError):
                place.fired = place.kit.fired(place.number, _LAST_LOOK_S)

    @property
    def fired(self) -> int:
        for place in list(self._places.values()):
            with suppress(ActError):  # the broker does not run
                place.fired = place.kit.fired(place.number)
        return sum(place.fired for place in self._all_places)

    @property
    def is_active(self) -> bool:
        return not self.is_removed and (self.times is None or self.fired < self.times)

    def remove(self) -> None:
        if self.is_removed:
            return
        self.is_removed = True
        for place in list(self._places.values()):
            with suppress(ActError, ValueError):
                place.fired = place.kit.remove_fault(place.number)
        self._places.clear()
        self.gone(self)

    def wait_fired(self, count: int = 1, timeout_s: float | None = None) -> None:
        self.check_wait(count, timeout_s)
        began_s = time.monotonic()
        while (fired := self.fired) < count:
            if self.is_removed:
                raise TimeoutError(f"{self} was removed after it had fired {fired} times, not {count}")
            if timeout_s is not None and time.monotonic() - began_s > timeout_s:
                raise TimeoutError(f"{self} has fired {fired} times in {timeout_s} s, not {count}")
            time.sleep(_BETWEEN_LOOKS_S)


class RemoteFaults(FaultSetter[RemoteFault]):
    """``kits``: those of the brokers that run, by id. ``broker``: the only one on which faults are set."""

    def __init__(self, kits: Kits, broker: int | None = None, shared: "RemoteFaults | None" = None) -> None:
        self._kits = kits
        self._broker = broker
        self._numbers: Iterator[int] = count(1) if shared is None else shared._numbers
        self._faults: dict[int, RemoteFault] = {} if shared is None else shared._faults

    def on(self, broker: int) -> "RemoteFaults":
        """Sets faults on one broker of the cluster."""
        return RemoteFaults(self._kits, broker, self)

    def all(self) -> list[RemoteFault]:
        return [fault for fault in list(self._faults.values()) if self._broker in (None, fault.broker)]

    def broker_started(self, broker: int) -> None:
        """Set on a broker what it lost when it ended."""
        for fault in self.all():
            if fault.broker in (None, broker) and fault.is_active:
                fault.place(broker, self._kits()[broker])

    def broker_ends(self, broker: int) -> None:
        """A broker is about to end."""
        for fault in self.all():
            fault.leave(broker)

    def _set(self, target: Target, effect: Effect, where: Where) -> RemoteFault:
        kits = self._kits()
        if self._broker is not None:
            if self._broker not in kits:
                raise ActError(f"broker {self._broker} does not run")
            kits = {self._broker: kits[self._broker]}
        fault = RemoteFault(next(self._numbers), target, effect, where, self._broker)
        try:
            for broker, kit in kits.items():
                fault.place(broker, kit)
        except BaseException:
            fault.remove()
            raise
        self._faults[fault.id] = fault
        fault.gone = self._forget
        return fault

    def _forget(self, fault: RemoteFault) -> None:
        self._faults.pop(fault.id, None)


def _nothing(_fault: RemoteFault) -> None:
    """The fault is not listed yet."""
