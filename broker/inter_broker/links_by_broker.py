"""One link to each broker that is asked for something."""

from collections.abc import Callable

from .broker_link import Link

__all__ = ["LinksByBroker"]


class LinksByBroker:
    """``link_to``: makes a link to a broker, by its id; called at the first use of the link."""

    def __init__(self, link_to: Callable[[int], Link]) -> None:
        self._link_to = link_to
        self._links: dict[int, Link] = {}
        self._is_killed = False

    def __call__(self, broker_id: int) -> Link:
        """The link to the broker, which this object closes. After `kill` it is dead from the start."""
        link = self._links.get(broker_id)
        if link is None:
            link = self._links[broker_id] = self._link_to(broker_id)
            if self._is_killed:
                link.kill()
        return link

    def kill(self) -> None:
        """End all requests and connections, without waiting."""
        self._is_killed = True
        for link in self._links.values():
            link.kill()

    async def close(self) -> None:
        """`kill`, and wait until the connections are closed."""
        self.kill()
        for link in self._links.values():
            await link.close()
