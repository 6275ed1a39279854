"""The share coordinator of one broker (KIP-932).

Everything runs on the event loop. The rules are in other files, without I/O; this file connects requests to them, and
has what happens when a partition comes or goes.
"""

from ..append_bridge import AppendBridge
from ..coordinator_partitions import CoordinatorPartitions
from ..internal_log import InternalLog
from .coordinator_ports import ShareCoordinatorPorts
from .entry import Entry
from .registry import ShareRegistry
from .replay import Replay
from .settings import ShareCoordinatorSettings
from .state_requests import StateRequests
from .state_writer import StateWriter
from .upkeep import Upkeep

__all__ = ["ShareCoordinator"]


class ShareCoordinator:
    """``requests``: the states that this broker stores."""

    def __init__(self, settings: ShareCoordinatorSettings, log: InternalLog, ports: ShareCoordinatorPorts) -> None:
        self._appends = AppendBridge(log)
        self.registry = ShareRegistry(lambda: log.partition_count, settings.max_bytes)
        self._writer = StateWriter(
            self._appends, self.registry, ports.scheduler, ports.now_ms, settings.write_timeout_ms
        )
        self.requests = StateRequests(settings, self.registry, self._writer, ports)
        self._upkeep = Upkeep(settings, self.registry, self._writer, ports)
        owned = self.registry.ownership
        self.partitions = CoordinatorPartitions(log, owned, self, self._appends, ports.now_ms, reloads=True)

    # -- the states of partitions (`KeptEntries`)

    @property
    def kind(self) -> str:
        return "share partitions"

    def new_replay(self, partition: int) -> Replay:
        return Replay(partition, self.registry.partition_for)

    def loaded(self, partition: int, entries: list[Entry]) -> None:
        self.registry.finish_loading(partition, entries)

    def unloaded(self, partition: int) -> int:
        entries = self.registry.remove_partition(partition)
        for entry in entries:
            self._writer.drop(entry)
        return len(entries)

    # -- start and stop

    def start(self) -> None:
        """Start the periodic work."""
        self._upkeep.start()

    async def close(self) -> None:
        """Stop answering and cancel all timers, without waiting for appends, which have no timeout."""
        self.kill()
        self._appends.abandon_all()

    def kill(self) -> None:
        """Stop answering and cancel all timers."""
        self.registry.ownership.is_active = False
        self._upkeep.stop()
