"""A coordinator that owns all partitions of a topic in memory, and calls of its handlers as if from the wire."""

from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any, TypeVar

from pybroker.broker.coordinator.group.coordinator import GroupCoordinator
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.requests.context import Authorizer, EncodedResponse, RequestContext
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message, decode, encode
from support.clients.group_clients import NO_DELAY
from support.in_process.offsets_topic import AwaitedOffsetsTopic, OffsetsTopic
from support.time.virtual_time import VirtualTime

Response = TypeVar("Response", bound=Message)


def versions(key: ApiKey, first: int | None = None, last: int | None = None) -> range:
    """All versions of an API, or from `first` to `last`."""
    spec = API_SPECS[key]
    low = spec.min_version if first is None else first
    return range(low, (spec.max_version if last is None else last) + 1)


def context(
    version: int, *, now_ms: int = 1_000, client_id: str | None = "c", authorizer: Authorizer | None = None
) -> RequestContext:
    address = ConnectionInfo("PLAINTEXT", "PLAINTEXT", ("10.0.0.1", 9092), ("10.0.0.7", 50_000))
    return RequestContext(version, 1, client_id, address, now_ms, authorizer=authorizer)


async def call(handler: Callable[[RequestContext, Any], Any], version: int, request: Message, **fields: Any) -> Any:
    """Call a handler with the request encoded and decoded, so that fields missing in the version are lost."""
    received = decode(type(request), encode(request, version), version)
    answer = handler(context(version, **fields), received)
    response = await answer if isinstance(answer, Awaitable) else answer
    if isinstance(response, EncodedResponse):
        key = type(request).MESSAGE.api_key
        assert key is not None
        return decode(API_SPECS[ApiKey(key)].response_type(), response.encode_body(throttle_time_ms=0), version)
    return decode(type(response), encode(response, version), version)


async def owning_coordinator(
    settings: GroupSettings = NO_DELAY,
) -> tuple[GroupCoordinator, VirtualTime, AwaitedOffsetsTopic]:
    time, log, numbers = VirtualTime(), AwaitedOffsetsTopic(OffsetsTopic()), count(1)
    coordinator = GroupCoordinator(settings, log, time, time.now_ms, lambda: f"{next(numbers):04}")
    for partition in range(log.partition_count):
        await coordinator.partitions.load(partition, 0)
    return coordinator, time, log
