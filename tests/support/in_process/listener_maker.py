"""Makes listeners for tests, and closes them."""

from pybroker.broker.network.listener import Listeners
from pybroker.broker.network.settings import NetworkSettings

from .network_peer import ScriptedHandler

__all__ = ["ListenerMaker"]


class ListenerMaker:
    """Makes listeners and closes them after the test, because uvloop does not end before that."""

    def __init__(self) -> None:
        self._made: list[Listeners] = []

    def __call__(self, settings: NetworkSettings | None = None) -> Listeners:
        listeners = Listeners(
            settings or NetworkSettings(),
            ScriptedHandler(),
            clock_ms=lambda: 0,
            header_version=lambda api_key, api_version: 1,
        )
        self._made.append(listeners)
        return listeners

    async def close(self) -> None:
        for listeners in self._made:
            await listeners.close(0)
