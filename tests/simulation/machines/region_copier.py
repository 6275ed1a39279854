"""Sends regions of files to a transport in virtual time; reads each region only when it is sent."""

import asyncio
from collections.abc import Callable

from pybroker.broker.network.region_sender import Done, RunInWorker, TruncatedRegionError
from pybroker.broker.network.request import Region
from pybroker.broker.network.transport import Transport
from pybroker.storage.files.files import FileRegion

__all__ = ["RegionCopier"]


class RegionCopier:
    """Implements `RegionSender` for a transport in virtual time."""

    def __init__(
        self,
        transport: Transport,
        loop: asyncio.AbstractEventLoop,
        run_in_worker: RunInWorker,
        is_full: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self.sent_bytes = 0

    def read_now(self, region: Region) -> bytes:
        assert isinstance(region, FileRegion)
        data = region.read()
        if len(data) < region.size_bytes:
            raise TruncatedRegionError(f"{region.size_bytes - len(data)} bytes are missing")
        return data

    def send(self, region: Region, done: Done) -> bool:
        self._transport.write(self.read_now(region))
        self.sent_bytes += region.size_bytes
        return True

    def transport_drained(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is held."""
