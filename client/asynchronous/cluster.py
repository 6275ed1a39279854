"""Finds the broker that a request must go to: any broker, the controller, a leader, or a group's coordinator.

**How.** Metadata is asked anew when it is older than `_METADATA_S`, and after a broker said that it is wrong.
**Limits.** A request is repeated once after an error that newer metadata can mend. The caller retries the rest.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from ...base.topic_partition import TopicPartition
from ...protocol.codec import Message
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ...protocol.messages.find_coordinator import FindCoordinatorRequest
from ...protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from ...protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic
from ..client_settings import ClientSettings
from .connection import AsyncConnection, open_async_connection

T = TypeVar("T")

Address = tuple[str, int]

MAX_RESPONSE_BYTES = 256 << 20
"""A record of 100 MB, and its batch, must fit."""

_CONSUMER = -1
_METADATA_S = 5.0
_PATIENCE_S = 10.0


class AsyncCluster:
    """One principal's connections to a cluster. Errors: ConnectionError, TimeoutError, TlsError, KafkaError."""

    def __init__(self, settings: ClientSettings) -> None:
        self.settings = settings
        self._connections: dict[Address, AsyncConnection] = {}
        self._opening: dict[Address, asyncio.Task[AsyncConnection]] = {}
        self._brokers: dict[int, Address] = {}
        self._topics: dict[str, tuple[float, MetadataResponseTopic]] = {}
        self._is_closed = False

    def close(self) -> None:
        """Close all connections."""
        self._is_closed = True
        for opening in self._opening.values():
            opening.cancel()
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
        self._topics.clear()

    async def metadata(self, topics: Iterable[str] | None) -> MetadataResponse:
        """Brokers and these topics; None: all topics."""
        names = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        answer: MetadataResponse = await self.ask_any(MetadataRequest(topics=names, allow_auto_topic_creation=False))
        self._brokers = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        return answer

    async def topic(self, name: str, *, is_fresh: bool = False) -> MetadataResponseTopic:
        """The partitions of a topic, from memory if they are recent. Raises KafkaError when there is no such topic."""
        now = asyncio.get_running_loop().time()
        known = self._topics.get(name)
        if known is not None and not is_fresh and now - known[0] < _METADATA_S:
            return known[1]
        (found,) = (await self.metadata([name])).topics
        if found.error_code:
            self._topics.pop(name, None)
            raise error_for(found.error_code, f"topic {name}: {_name_of(found.error_code)}")
        if len(self._topics) >= 1_000:
            self._topics.clear()
        self._topics[name] = (now, found)
        return found

    async def leader(self, at: TopicPartition, *, is_fresh: bool = False) -> int:
        """The broker that leads a partition. Raises KafkaError when there is none."""
        topic = await self.topic(at.topic, is_fresh=is_fresh)
        for partition in topic.partitions:
            if partition.partition_index == at.partition:
                if partition.leader_id < 0:
                    raise error_for(ErrorCode.LEADER_NOT_AVAILABLE, f"{at} has no leader")
                return partition.leader_id
        raise error_for(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {at}")

    async def leaders(self, partitions: Iterable[TopicPartition]) -> dict[int, list[TopicPartition]]:
        """Partitions by the broker that leads them; those without a leader are left out."""
        led: dict[int, list[TopicPartition]] = defaultdict(list)
        for at in partitions:
            try:
                led[await self.leader(at)].append(at)
            except KafkaError as error:
                if error.code != ErrorCode.LEADER_NOT_AVAILABLE:
                    raise
        return led

    async def ask_any(self, request: Message) -> Any:
        """The response of the first broker that answers; connected brokers are tried first."""
        connected = [address for address, each in self._connections.items() if each.is_usable]
        failure: Exception | None = None
        for address in dict.fromkeys([*connected, *self._brokers.values(), *self.settings.bootstrap_servers]):
            try:
                return await self._ask(address, request)
            except (ConnectionError, TimeoutError) as error:
                failure = error
        raise failure or ConnectionError("no broker is known")

    async def ask_broker(self, broker_id: int, request: Message) -> Any:
        """The response of one broker."""
        return await self._ask(await self._address_of(broker_id), request)

    async def ask_controller(self, request: Message) -> Any:
        """The response of the controller."""
        controller = (await self.metadata([])).controller_id
        if controller not in self._brokers:
            raise error_for(ErrorCode.NOT_CONTROLLER, "the cluster has no controller")
        return await self.ask_broker(controller, request)

    async def ask_coordinator(self, group: str, request: Message) -> Any:
        """The response of a group's coordinator."""
        found = await self.ask_any(FindCoordinatorRequest(key=group))
        if found.error_code:
            said = found.error_message or _name_of(found.error_code)
            raise error_for(found.error_code, f"group {group}: {said}")
        return await self._ask((found.host, found.port), request)

    async def patiently(self, ask: Callable[[], Awaitable[T]]) -> T:
        """The result of `ask`, which is repeated while it fails with an error that passes, such as a coordinator that
        is being loaded. Raises the last error after `_PATIENCE_S`.
        """
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + _PATIENCE_S
        while True:
            try:
                return await ask()
            except KafkaError as error:
                if not error.retriable or loop.time() >= ends_s:
                    raise
            await asyncio.sleep(self.settings.retry_backoff_ms / 1000)

    async def offsets(
        self, questions: Mapping[TopicPartition, int], *, partial: bool = False
    ) -> dict[TopicPartition, int]:
        """The first offset with at least this timestamp in each partition, or for LATEST (-1) or EARLIEST (-2).

        -1 if there is no such record. `partial`: partitions with an error are left out, else the error is raised.
        """
        return await self._mended(lambda is_fresh: self._offsets(questions, partial, is_fresh))

    async def open_own_connection(self, broker_id: int) -> AsyncConnection:
        """A connection for one caller, who closes it: for requests that would hold up others."""
        return await open_async_connection(*await self._address_of(broker_id), self.settings, MAX_RESPONSE_BYTES)

    async def _offsets(
        self, questions: Mapping[TopicPartition, int], is_partial: bool, is_fresh: bool
    ) -> dict[TopicPartition, int]:
        if is_fresh:
            for topic in {at.topic for at in questions}:
                await self.topic(topic, is_fresh=True)
        led = await self.leaders(questions)
        asked = [self._offsets_at(leader, {at: questions[at] for at in led[leader]}, is_partial) for leader in led]
        found: dict[TopicPartition, int] = {}
        for part in await asyncio.gather(*asked):
            found |= part
        return found

    async def _offsets_at(
        self, leader: int, questions: Mapping[TopicPartition, int], is_partial: bool
    ) -> dict[TopicPartition, int]:
        topics: dict[str, list[ListOffsetsPartition]] = defaultdict(list)
        for at, timestamp in questions.items():
            topics[at.topic].append(ListOffsetsPartition(partition_index=at.partition, timestamp=timestamp))
        request = ListOffsetsRequest(
            replica_id=_CONSUMER,
            isolation_level=self.settings.isolation_level,
            topics=[ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
        )
        found = {}
        for topic in (await self.ask_broker(leader, request)).topics:
            for partition in topic.partitions:
                at = TopicPartition(topic.name, partition.partition_index)
                if not partition.error_code:
                    found[at] = partition.offset
                elif not is_partial:
                    raise error_for(partition.error_code, f"{at}: {_name_of(partition.error_code)}")
        return found

    async def _mended(self, ask: Callable[[bool], Awaitable[T]]) -> T:
        """Ask once more with fresh metadata after an error that this may mend."""
        try:
            return await ask(False)
        except ConnectionError:
            return await ask(True)
        except KafkaError as error:
            if not error.retriable:
                raise
            return await ask(True)

    async def _address_of(self, broker_id: int) -> Address:
        if broker_id not in self._brokers:
            await self.metadata([])
        if broker_id not in self._brokers:
            raise error_for(ErrorCode.BROKER_NOT_AVAILABLE, f"broker {broker_id} is not alive")
        return self._brokers[broker_id]

    async def _ask(self, address: Address, request: Message) -> Any:
        connection = await self._connection(address)
        return await connection.ask(request, self.settings.request_timeout_ms)

    async def _connection(self, address: Address) -> AsyncConnection:
        if self._is_closed:
            raise ConnectionError("the session is closed")
        connection = self._connections.get(address)
        if connection is not None and connection.is_usable:
            return connection
        opening = self._opening.get(address)
        if opening is None:
            made = open_async_connection(*address, self.settings, MAX_RESPONSE_BYTES)
            opening = self._opening[address] = asyncio.get_running_loop().create_task(made)
            opening.add_done_callback(lambda done: self._opened(address, done))
        return await asyncio.shield(opening)

    def _opened(self, address: Address, opening: asyncio.Task[AsyncConnection]) -> None:
        del self._opening[address]
        if opening.cancelled() or opening.exception() is not None:
            return
        if self._is_closed:
            opening.result().close()
            return
        old = self._connections.get(address)
        if old is not None and not old.under_way:
            old.close()
        self._connections[address] = opening.result()


def _name_of(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
