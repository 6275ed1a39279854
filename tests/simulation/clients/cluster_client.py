"""The base of every simulated client: leaders from metadata, one link to each broker, and retries."""

import asyncio
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from pybroker.protocol.codec import Message
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from simulation.checkers.history import Acknowledged, History, Place
from simulation.clients.client_link import ClientLink, Layer, UnansweredError
from simulation.machines.virtual_loop import VirtualLoop
from simulation.runs.effects import Effects

__all__ = ["BACKOFF_S", "ClusterClient"]

BACKOFF_S = 0.1
_ASK_TIMEOUT_S = 3.0
_METADATA_VERSION = 12

Leader = tuple[int, int]
"""Broker id and leader epoch."""


class ClusterClient:
    """A client on its own machine. `servers`: bootstrap hosts and ports."""

    def __init__(
        self,
        name: str,
        loop: VirtualLoop,
        servers: Sequence[tuple[str, int]],
        random: Random,
        history: History,
        effects: Effects,
        known_epoch: Callable[[int, Place], int] = lambda broker_id, place: -1,
        acknowledged_end: Callable[[int, Place], int] = lambda broker_id, place: 0,
        layer: Layer | None = None,
    ) -> None:
        """`known_epoch`: the last leader epoch of a partition that a broker is known to have received.
        `acknowledged_end`: the offset before which a broker has acknowledged everything by now.
        `layer`: TLS below its connections.
        """
        self.name = name
        self.loop = loop
        self.random = random
        self.history = history
        self.leaders: dict[Place, Leader] = {}
        self.partitions: dict[str, int] = {}
        self.controller_id = -1
        self.known_epoch = known_epoch
        self._acknowledged_end = acknowledged_end
        self._effects = effects
        self._layer = layer
        self._numbers: dict[Place, int] = {}
        self._servers = list(servers)
        self._brokers: dict[int, tuple[str, int]] = {}
        self._links: dict[tuple[str, int], ClientLink] = {}
        self._node_links: dict[int, ClientLink] = {}
        self._refresh: asyncio.Task[None] | None = None

    def note(self, what: str) -> None:
        self.history.note(self.loop.time(), self.name, what)

    async def back_off(self) -> None:
        await asyncio.sleep(BACKOFF_S * (1 + self.random.random()))

    def acknowledged(self, broker_id: int, place: Place, known_epoch: int, asked_s: float) -> Acknowledged:
        """A record that a broker has just reported as committed, with the epoch it knew at the time of the request."""
        return Acknowledged(known_epoch, self._acknowledged_end(broker_id, place) - 1, asked_s)

    def next_number(self, place: Place) -> int:
        """The number of this client's next batch to a partition."""
        number = self._numbers[place] = self._numbers.get(place, 0) + 1
        return number

    def failed(self, what: str, broker_id: int) -> None:
        """Count a broker's error response."""
        self.history.counts[what] += 1
        self._effects.add("requests refused", self.name, f"broker-{broker_id}")

    def link(self, address: tuple[str, int]) -> ClientLink:
        link = self._links.get(address)
        if link is None:
            link = self._links[address] = self._new_link(address)
        return link

    def _new_link(self, address: tuple[str, int]) -> ClientLink:
        return ClientLink(self.loop, *address, self.name, self._unanswered, self._layer)

    def _unanswered(self, host: str) -> None:
        self._effects.add("requests without an answer", self.name, host)

    async def ask(self, node_id: int, request: Message, version: int, timeout_s: float = _ASK_TIMEOUT_S) -> Any:
        """Returns the broker's response. Raises UnansweredError."""
        return await self._link_to(node_id).ask(request, version, timeout_s)

    async def tell(self, node_id: int, request: Message, version: int) -> None:
        """Send a request without a response. Raises UnansweredError."""
        await self._link_to(node_id).tell(request, version, _ASK_TIMEOUT_S)

    async def ask_any(self, request: Message, version: int) -> Any:
        """Returns the response of any broker. Raises UnansweredError."""
        addresses = [address for _, address in sorted(self._brokers.items())] or self._servers
        address = self.random.choice(addresses)
        answer = await self.link(address).ask(request, version, _ASK_TIMEOUT_S)
        if getattr(answer, "error_code", 0):  # no producer id, or no coordinator, yet
            self._effects.add("requests refused", self.name, address[0])
        return answer

    def _link_to(self, node_id: int) -> ClientLink:
        """The single connection to a broker, whatever name it is known by, so requests keep their order."""
        address = self._brokers.get(node_id)
        if address is None:
            raise UnansweredError(f"broker {node_id} is not known")
        link = self._node_links.get(node_id)
        if link is None:
            link = self._node_links[node_id] = self._new_link(address)
        link.address = address
        return link

    async def refresh(self, *topics: str) -> None:
        """Fetch the leaders; a failed request leaves them unchanged."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in topics], allow_auto_topic_creation=False
        )
        try:
            answer: MetadataResponse = await self.link(self.random.choice(self._servers)).ask(
                request, _METADATA_VERSION, _ASK_TIMEOUT_S
            )
        except UnansweredError:
            return
        self.controller_id = answer.controller_id
        self._brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        for topic in answer.topics:
            if topic.name is None or topic.error_code:
                continue
            self.partitions[topic.name] = len(topic.partitions)
            for partition in topic.partitions:
                place, known = (topic.name, partition.partition_index), (partition.leader_id, partition.leader_epoch)
                # Like clients since KIP-320: metadata with an older leader epoch is ignored.
                if place not in self.leaders or known[1] >= self.leaders[place][1]:
                    self.leaders[place] = known

    def close(self) -> None:
        for link in (*self._links.values(), *self._node_links.values()):
            link.close()
