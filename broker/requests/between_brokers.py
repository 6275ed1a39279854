"""Requests that only brokers may send: with an authorizer they need the right CLUSTER_ACTION, as in Kafka.

Without an authorizer they are accepted on the brokers' own listeners alone. Nothing else then keeps a client from
acting as controller or replica; the network can keep clients from a separate listener for brokers
(``inter.broker.listener.name``).
"""

from collections.abc import Awaitable
from typing import Any

from ...base.acls import AclOperation
from ...config.config import Config
from ...protocol.errors import ClusterAuthorizationError
from .context import Handler, RequestContext

__all__ = ["BetweenBrokers", "listeners_between_brokers"]


def listeners_between_brokers(config: Config) -> tuple[str, ...]:
    """The names of the listeners that brokers reach each other on."""
    control_plane = config.optional_string("control.plane.listener.name")
    names = (config.inter_broker_listener_name, control_plane.upper() if control_plane else "")
    return tuple(filter(None, names))


class BetweenBrokers:
    """A handler: calls ``handler`` for requests of brokers; ClusterAuthorizationError for others."""

    def __init__(self, handler: Handler, listeners: tuple[str, ...]) -> None:
        self._handler = handler
        self._listeners = listeners

    def __call__(self, context: RequestContext, request: Any) -> Any | Awaitable[Any]:
        if context.authorizer is not None:
            context.require_on_cluster(AclOperation.CLUSTER_ACTION)
        elif context.address.listener_name not in self._listeners:
            raise ClusterAuthorizationError("Only brokers may send this request, on the listener for brokers.")
        if context.request is not None:
            context.request.is_of_broker = True
        return self._handler(context, request)
