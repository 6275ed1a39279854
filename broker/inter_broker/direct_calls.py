"""Calls of this broker's own handlers without a connection: its requests to the controller, when it is that itself."""

from collections.abc import Callable

from ...protocol.codec import Message
from ..network.request import ConnectionInfo
from ..requests.context import Handler, RequestContext
from .controller_link import LocalHandler

__all__ = ["called_directly"]


def called_directly(handler: Handler, listener_name: str, broker_id: int, clock_ms: Callable[[], int]) -> LocalHandler:
    """``handler`` as the sender of a request between brokers calls it. It needs no right.

    ``listener_name``: the listener between brokers, by which the request would come from another broker.
    """
    here = ConnectionInfo.of_this_broker(listener_name)

    async def call(request: Message, version: int) -> Message:
        answer: Message = await handler(RequestContext(version, 0, str(broker_id), here, clock_ms()), request)
        return answer

    return call
