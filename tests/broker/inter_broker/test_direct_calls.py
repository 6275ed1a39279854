"""A broker calls its own handlers as itself."""

import asyncio
from typing import Any

from pybroker.broker.inter_broker.direct_calls import called_directly
from pybroker.broker.requests.context import RequestContext
from pybroker.broker.security.principal import THIS_BROKER
from pybroker.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse


def test_direct_call_carries_this_brokers_own_principal_on_the_listener_between_brokers() -> None:
    seen: list[RequestContext] = []

    async def handler(context: RequestContext, _request: Any) -> AllocateProducerIdsResponse:
        seen.append(context)
        return AllocateProducerIdsResponse(producer_id_start=7)

    call = called_directly(handler, "INTERNAL", 3, lambda: 1_000)

    async def ask() -> Any:
        return await call(AllocateProducerIdsRequest(), 0)

    answer = asyncio.run(ask())
    (context,) = seen
    assert answer.producer_id_start == 7
    assert context.address.principal is THIS_BROKER
    assert context.address.is_this_broker
    assert (context.address.listener_name, context.client_id, context.now_ms) == ("INTERNAL", "3", 1_000)
