"""The addresses of a broker in the metadata tree, for other brokers and for clients."""

import socket
from collections.abc import Sequence

from ...config.config import Config
from ...controller.tree.znodes import RegisteredEndpoint
from ..network.settings import Endpoint

__all__ = ["registered_endpoints"]


def registered_endpoints(config: Config, bound: Sequence[Endpoint]) -> list[RegisteredEndpoint]:
    """``advertised.listeners``, or else the ``bound`` addresses; an empty host becomes this machine's name.

    A client may get another address of this broker: see `AdvertisedAddresses`.
    """
    advertised = config.advertised_listeners()
    if advertised is not None:
        return [
            RegisteredEndpoint(each.name, each.security_protocol, each.host or socket.gethostname(), each.port)
            for each in advertised
        ]
    return [
        RegisteredEndpoint(each.listener_name, each.security_protocol, each.host or socket.gethostname(), each.port)
        for each in bound
    ]
