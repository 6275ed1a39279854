"""One fault: what it is for, what it does, and how often it has fired."""

import asyncio
import threading
from collections.abc import Callable

from ...base.futures import set_done
from .effects import Effect
from .fault_setter import SetFault
from .target import Target

__all__ = ["Fault"]


class Fault(SetFault):
    """Set on a broker until it is removed: by `remove`, at the end of a ``with``, or when it has fired ``times`` times.

    Requests are matched on the event loops of brokers; every method here may be called on any thread.
    """

    def __init__(
        self,
        number: int,
        target: Target,
        effect: Effect,
        times: int | None,
        after: int,
        removed: Callable[["Fault"], None],
        broker: int | None = None,
    ) -> None:
        """``removed`` is told when the fault has ended. ``broker``: the only one with the fault; None: all of them."""
        self.id = number
        self.target = target
        self.effect = effect
        self.times = times
        self.after = after
        self.broker = broker
        self._fired = 0
        self.is_removed = False
        self._passed = 0
        self._removed = removed
        self._changed = threading.Condition()
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    @property
    def fired(self) -> int:
        return self._fired

    @property
    def is_active(self) -> bool:
        return not self.is_removed and (self.times is None or self.fired < self.times)

    def take(self) -> bool:
        """Count a request that matches. Whether the fault fires on it. The brokers of a cluster share the counts."""
        with self._changed:
            if not self.is_active:
                return False
            if self._passed < self.after:
                self._passed += 1
                return False
            self._fired += 1
            has_ended = self.fired == self.times
            self._changed.notify_all()
            self._wake()
        if has_ended:
            self._removed(self)
        return True

    def remove(self) -> None:
        with self._changed:
            if self.is_removed:
                return
            self.is_removed = True
            self._changed.notify_all()
            self._wake()
        self._removed(self)

    def wait_fired(self, count: int = 1, timeout_s: float | None = None) -> None:
        self.check_wait(count, timeout_s)
        with self._changed:
            if not self._changed.wait_for(lambda: self.fired >= count or self.is_removed, timeout_s):
                raise TimeoutError(f"{self} has fired {self.fired} times in {timeout_s} s, not {count}")
            self._check(count)

    async def until_fired(self, count: int = 1) -> None:
        """Wait on the running loop until the fault has fired ``count`` times. Raises TimeoutError when it is removed
        before."""
        future = asyncio.get_running_loop().create_future()
        with self._changed:
            if self.fired < count and not self.is_removed:
                self._waiting.append((count, future))
            else:
                future.set_result(None)
        await future
        self._check(count)

    def _check(self, count: int) -> None:
        if self.fired < count:
            raise TimeoutError(f"{self} was removed after it had fired {self.fired} times, not {count}")

    def _wake(self) -> None:
        left = []
        for count, future in self._waiting:
            if self.fired < count and not self.is_removed:
                left.append((count, future))
            else:
                future.get_loop().call_soon_threadsafe(set_done, future)
        self._waiting = left
