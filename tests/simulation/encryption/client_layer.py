"""TLS below the connections of simulated clients. It is the layer of production below links between brokers."""

import asyncio
import ssl

from pybroker.broker.security.tls.buffers import TlsBuffers
from pybroker.broker.security.tls.links import link_layer
from simulation.clients.client_link import Layer
from simulation.machines.cluster_shape import KEY_STORE, TRUST_STORE

__all__ = ["client_layer"]

_DEADLINE_S = 3.0


def client_layer(loop: asyncio.AbstractEventLoop) -> Layer:
    """Clients show a certificate and check the name of the broker."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_cert_chain(KEY_STORE)
    context.load_verify_locations(TRUST_STORE)
    return link_layer(lambda: context, loop, TlsBuffers(), _DEADLINE_S)
