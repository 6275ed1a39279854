"""The faults of one broker, or of all brokers of a cluster: what a test calls to set them.

    with broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic="orders", times=3) as fault:
        ...
    assert fault.fired == 3

Faults are tried in the order in which they were set, and the first that matches wins. A fault set without a ``client``
is for clients: requests that other brokers send to the listener for brokers, and fetches of followers, pass it.
"""

import asyncio
import threading
from collections.abc import Callable
from itertools import count
from uuid import UUID

from ..network.listener import Listeners
from ..requests.dispatch import Dispatcher
from .effects import Effect
from .fault import Fault
from .fault_setter import FaultSetter, counts_of
from .fault_switch import FaultSwitch
from .target import Target, Where

__all__ = ["MOST_FAULTS", "Faults", "FaultsOfBroker"]

MOST_FAULTS = 1000


class Faults(FaultSetter[Fault]):
    """Faults of brokers in this program."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count(1)
        self._faults: dict[int, Fault] = {}
        self._active: tuple[Fault, ...] = ()
        self._switches: tuple[FaultSwitch, ...] = ()

    def all(self) -> list[Fault]:
        with self._lock:
            return list(self._faults.values())

    def on(self, broker: int) -> "FaultsOfBroker":
        """Sets faults on one broker of a cluster."""
        return FaultsOfBroker(self, broker)

    # -- the broker that has them

    def attach(
        self,
        listeners: Listeners,
        topic_name: Callable[[UUID], str | None],
        broker: int | None = None,
        brokers_listener: str | None = None,
    ) -> None:
        """Act on these listeners from now on. To be called on their loop, before they accept connections.

        ``broker``: its id in a cluster. ``brokers_listener``: the name of a listener for other brokers only.
        """
        dispatcher = listeners.handler
        assert isinstance(dispatcher, Dispatcher)

        def active() -> tuple[Fault, ...]:
            return tuple(fault for fault in self._active if fault.broker in (None, broker))

        loop = asyncio.get_running_loop()
        switch = FaultSwitch(listeners, dispatcher, loop, topic_name, active, brokers_listener)
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
        return self.set_on(None, target, effect, where)

    def set_on(self, broker: int | None, target: Target, effect: Effect, where: Where) -> Fault:
        """Set a fault on one broker, or on all (None)."""
        times, after = counts_of(where)
        fault = Fault(
            next(self._numbers),
            target,
            effect,
            times,
            after,
            self._ended,
            broker,
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


class FaultsOfBroker(FaultSetter[Fault]):
    """Faults of one broker of a cluster."""

    def __init__(self, faults: Faults, broker: int) -> None:
        self._faults = faults
        self._broker = broker

    def all(self) -> list[Fault]:
        return [fault for fault in self._faults.all() if fault.broker == self._broker]

    def _set(self, target: Target, effect: Effect, where: Where) -> Fault:
        return self._faults.set_on(self._broker, target, effect, where)
