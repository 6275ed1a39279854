"""The dependencies of a broker on the outside: clocks, randomness, files, threads, child processes, the metadata store.

A simulation passes its own.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random, SystemRandom
from typing import TYPE_CHECKING
from uuid import uuid4

from ..base.timers import Scheduler
from ..config.config import Config
from ..controller.tree.metadata_store import MetadataStore
from ..storage.files.files import Files
from ..storage.workers.worker_pool import ClosablePool, WorkerPool
from .network.local_socket_options import congestion_control_that_paces
from .network.region_sender import RegionSenderFactory, new_region_sender
from .network.request_timer import RequestTimer

if TYPE_CHECKING:  # imported only when there is something to compact, or a clock to move
    from ..storage.compaction.cleaner_child import CompactionWorker
    from .clock.clocks import TestClock

__all__ = ["Environment", "open_metadata_store", "wall_clock_ms"]


def wall_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def start_worker_pool(loop: asyncio.AbstractEventLoop, threads: int, name: str) -> ClosablePool:
    return WorkerPool(loop, threads, name)


def start_cleaner_child() -> "CompactionWorker":
    from ..storage.compaction.cleaner_child import CleanerChild

    return CleanerChild()


async def open_metadata_store(
    config: Config, clock_ms: Callable[[], int], *, drops_data: Callable[[], bool] | None = None
) -> MetadataStore:
    """Open a session with ZooKeeper, or with the embedded store, as ``config`` says. ``drops_data``: as
    `EmbeddedStore.open` has it."""
    if config.uses_embedded_store:
        from ..controller.tree.embedded_store import EmbeddedStore

        return await EmbeddedStore.open(config.metadata_store_path, clock_ms, starts_broker=True, drops_data=drops_data)

    from ..controller.tree.zookeeper_settings import ZooKeeperSettings
    from ..controller.tree.zookeeper_store import ZooKeeperStore

    return await ZooKeeperStore.open(ZooKeeperSettings.from_config(config))


@dataclass
class Environment:
    """The defaults are the real dependencies. The running event loop, with its monotonic clock, is one, too."""

    clock_ms: Callable[[], int] = wall_clock_ms
    stopwatch_s: Callable[[], float] = time.perf_counter
    """Measures how long a step takes; the clock of the loop may stand still during a step."""
    work_time_s: Callable[[], float] = time.thread_time
    """CPU time of the thread that calls it: what a request cost, whatever other threads do meanwhile."""
    random: Random = field(default_factory=SystemRandom)
    new_uuid: Callable[[], str] = lambda: str(uuid4())
    files: Files = field(default_factory=Files)
    start_pool: Callable[[asyncio.AbstractEventLoop, int, str], ClosablePool] = start_worker_pool
    start_compaction: Callable[[], "CompactionWorker"] = start_cleaner_child
    new_sender: RegionSenderFactory = new_region_sender
    paced_by: Callable[[], bytes | None] = congestion_control_that_paces
    """As `LocalSocketOptions` has it."""
    open_store: Callable[[Config, Callable[[], int]], Awaitable[MetadataStore]] = open_metadata_store
    """Opens a session with the metadata store: at the start, and with ZooKeeper after an expired session."""
    opens_default_http: bool = False
    """Whether the broker opens its HTTP endpoint at the default address. Only a broker with a process of its own does,
    because many brokers in one program would compete for that address."""
    timed_by: Callable[[RequestTimer | None], RequestTimer | None] = lambda timer: timer
    """Returns the timer of the listeners' requests, from the broker's own timer. None: requests are not timed."""
    scram_users: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Passwords of users that log in by SCRAM, beside the users in the metadata tree."""
    test_clock: "TestClock | None" = None
    """A clock that tests move. It replaces ``clock_ms``, and moves the timers that wait for clients."""

    def __post_init__(self) -> None:
        if self.test_clock is not None:
            self.clock_ms = self.test_clock.clock_ms

    def timers_on(self, loop: asyncio.AbstractEventLoop) -> Scheduler:
        """The timers that wait for clients: the loop's own, unless tests move the clock."""
        return loop if self.test_clock is None else self.test_clock.moves.timers_on(loop)
