"""A broker on a machine in memory: `broker/server.py` starts it as in production; it can crash, stop and restart.

`environment` and the event loop replace the real world; everything else is production code.
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

from pybroker.base.topic_partition import parse_directory_name
from pybroker.broker.environment import Environment
from pybroker.broker.server import BrokerServer
from pybroker.broker.start_error import StartError
from pybroker.config.config import Config
from pybroker.config.load import load_config
from pybroker.controller.tree.metadata_store import MetadataStore
from pybroker.replication.partition.hosted_partition import HostedPartition
from pybroker.storage.log.log import Log
from simulation.machines.cluster_shape import ClusterShape
from simulation.machines.disk import Disk, Loss
from simulation.machines.region_copier import RegionCopier
from simulation.machines.simulated_files import SimulatedFiles
from simulation.machines.simulated_pool import InlineCompaction, SimulatedPool
from simulation.machines.virtual_loop import VirtualLoop, on_host

if TYPE_CHECKING:
    from simulation.machines.model_zookeeper import ModelZooKeeper
    from simulation.machines.network import Network

__all__ = ["SimulatedBroker"]

WALL_CLOCK_START_MS = 1_700_000_000_000
_PLAIN = ClusterShape()
_JUMP_IS_FELT_S = 30.0
"""A slow disk may delete a segment this long after the decision that was based on the clock."""


class SimulatedBroker:
    """A broker, or its machine while the broker is down. `server` is None while it does not run. `clock_ahead_ms`:
    error of its wall clock; `clock_reads`: the number of reads of it. `compactions`: the number of finished
    compactions.
    """

    def __init__(
        self,
        broker_id: int,
        network: "Network",
        zookeeper: "ModelZooKeeper",
        settings: Mapping[str, str],
        random: Random,
        shape: ClusterShape = _PLAIN,
    ) -> None:
        self.broker_id = broker_id
        self.name = f"broker-{broker_id}"
        self.network = network
        self.disk = Disk(Random(random.random()))
        self.clock_ahead_ms = 0
        self._jumps: list[tuple[float, int]] = []
        """The time of each clock jump, and the clock's error before it."""
        self.clock_reads = 0
        self.compactions = 0
        self.server: BrokerServer | None = None
        self.files: SimulatedFiles | None = None
        self._pools: list[SimulatedPool] = []
        self.starts = 0
        self.started_s = 0.0
        """The time of the last start."""
        self.running_since_s = 0.0
        """The time when the last start was complete and known to others."""
        self.failures: list[Exception] = []
        """The errors with which the broker ended."""
        self.failed_directories: dict[str, None] = {}
        """Log directories that failed in an earlier run, whose partitions may have moved to others."""
        self.on_end: Callable[[], None] = lambda: None
        """Called when the broker stops or crashes. `on_failure` is called before it if the broker ended by itself."""
        self.on_failure: Callable[[], None] = lambda: None
        self.on_crash: Callable[[], None] = lambda: None
        """Called before the broker is ended in the middle of its work."""
        self.config = load_config(
            "",
            {**shape.settings_of(broker_id, self.name), "zookeeper.connect": "model:2181", **settings},
        )
        self._loop: VirtualLoop = network.loop
        self._zookeeper = zookeeper
        self._random = random
        self._starting: asyncio.Task[None] | None = None
        self._leftovers: list[asyncio.Task[None]] = []
        network.add_host(self.name)

    @property
    def is_up(self) -> bool:
        """Whether it runs or starts."""
        return self.server is not None

    @property
    def is_running(self) -> bool:
        return self.server is not None and self.server.is_running

    def partitions(self) -> list[HostedPartition]:
        """The partitions the broker hosts now, with their logs."""
        partitions = getattr(self.server, "_partitions", None)  # missing before the logs are loaded
        return [] if partitions is None else list(partitions)

    def logs(self) -> list[Log]:
        logs = getattr(self.server, "_logs", None)
        return [] if logs is None else logs.all_logs()

    def has_lost_directories(self) -> bool:
        """Whether it runs without some of its log directories."""
        logs = getattr(self.server, "_logs", None)
        return self.is_running and logs is not None and len(logs.directories.online()) < len(self.config.log_dirs)

    def clock_ms(self) -> int:
        self.clock_reads += 1
        return WALL_CLOCK_START_MS + int(self._loop.time() * 1000) + self.clock_ahead_ms

    def latest_clock_ms(self) -> int:
        """The highest value that its clock may have shown within the last `_JUMP_IS_FELT_S`."""
        now_s = self._loop.time()
        self._jumps = [each for each in self._jumps if now_s - each[0] <= _JUMP_IS_FELT_S]
        ahead_ms = max((self.clock_ahead_ms, *(before_ms for _, before_ms in self._jumps)))
        return WALL_CLOCK_START_MS + int(now_s * 1000) + ahead_ms

    def set_clock(self, ahead_ms: int) -> None:
        """Set the error of its wall clock."""
        self._jumps.append((self._loop.time(), self.clock_ahead_ms))
        self.clock_ahead_ms = ahead_ms

    def environment(self, files: SimulatedFiles) -> Environment:
        """The environment of one run of the broker."""
        random = Random(self._random.random())
        disk, loop = self.disk, self._loop

        async def open_store(config: Config, clock_ms: object) -> MetadataStore:
            timeout_ms = config.int("zookeeper.session.timeout.ms")
            return await self._zookeeper.open(self.name, session_timeout_ms=timeout_ms)

        def start_pool(_loop: object, workers: int, _name: str) -> SimulatedPool:
            self._pools.append(SimulatedPool(loop, workers, random, files))
            return self._pools[-1]

        return Environment(
            clock_ms=self.clock_ms,
            stopwatch_s=lambda: loop.time() + disk.spent_s,
            work_time_s=lambda: loop.time() + disk.spent_s,
            random=random,
            new_uuid=lambda: str(UUID(int=random.getrandbits(128), version=4)),
            files=files,
            start_pool=start_pool,
            start_compaction=lambda: InlineCompaction(loop, files, self._compacted),
            new_sender=RegionCopier,
            paced_by=lambda: None,
            open_store=open_store,
        )

    def make_disk_fast(self) -> None:
        """End all slowness of the disk."""
        self.disk.slow_s = 0.0
        for pool in self._pools:
            pool.hurry()

    def _compacted(self) -> None:
        self.compactions += 1

    def start(self) -> asyncio.Task[None]:
        """Start the broker. The returned task ends when it runs or when the start failed, which `failures` explains."""
        assert self.server is None
        if self.disk.failing is None:
            self._delete_what_was_made_anew()
        self.starts += 1
        self.started_s = self._loop.time()
        self.running_since_s = math.inf
        self._pools.clear()
        context = on_host(self.name)
        files = self.files = SimulatedFiles(self.disk, self.clock_ms)
        server = self.server = context.run(BrokerServer, self.config, self.environment(files))
        self._starting = self._loop.create_task(self._start(server), context=context)
        self._starting.add_done_callback(self._started)
        return self._starting

    def _delete_what_was_made_anew(self) -> None:
        """Delete logs in a repaired directory that the broker has recreated in another one; it refuses to start with
        both.
        """
        for failed in self.failed_directories:
            others = (self.disk.find(path) for path in self.config.log_dirs if path != failed)
            elsewhere = {name for other in others if other is not None for name in other.names or ()}
            directory = self.disk.find(failed)
            for name in list(directory.names or ()) if directory is not None else ():
                if name in elsewhere and parse_directory_name(name) is not None:
                    self.disk.delete(f"{failed}/{name}")
        self.failed_directories.clear()

    def _started(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._loop.call_exception_handler({"message": f"{self.name} cannot start", "exception": error})

    async def _start(self, server: BrokerServer) -> None:
        try:
            await server.start()
        except StartError as error:
            if self.server is server:
                self._failed(server, error)
            return
        self.running_since_s = self._loop.time()
        server.failed.add_done_callback(lambda failed: self._failed(server, failed.result()))

    def _failed(self, server: BrokerServer, error: Exception) -> None:
        """End the broker after a fatal error, as its process would end."""
        if self.server is server:
            self.failures.append(error)
            self.on_failure()
            self.crash(Loss.NOTHING)

    def crash(self, loss: Loss, *, without_power: bool = False) -> dict[str, int]:
        """Kill the broker. Returns the files that lost data, with the number of bytes they kept."""
        server, files = self.server, self.files
        assert server is not None
        assert files is not None
        self.on_crash()
        self.on_end()
        self.server = None
        if without_power:
            self.network.switch_off(self.name)
        server.kill()
        files.end()
        self._leftovers.append(self._loop.create_task(server.settle(), context=on_host(self.name)))
        return self.disk.crash(loss)

    def power_on(self) -> None:
        if self.network.hosts[self.name].is_off:
            self.network.switch_on(self.name)

    async def stop(self) -> None:
        """A clean stop."""
        server = self.server
        if server is not None:
            await self._loop.create_task(server.stop(), context=on_host(self.name))
            if self.server is server:
                self.on_end()
                self.server = None
                self.disk.crash(Loss.NOTHING)
