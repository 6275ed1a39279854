"""The log line at the end of a start, with the addresses for clients."""

from collections.abc import Iterable

from ...config.listeners import is_every_address
from ..metadata.address import local_address
from ..network.settings import Endpoint

__all__ = ["ready_line"]


def ready_line(endpoints: Iterable[Endpoint], http: Iterable[Endpoint] = ()) -> str:
    """``http``: the addresses of the HTTP endpoint."""
    return "pybroker is ready: listening on " + ", ".join(map(_shown, (*endpoints, *http)))


def _shown(endpoint: Endpoint) -> str:
    """The address; for a listener on every address, the one that clients on this machine use."""
    shown = f"{endpoint.listener_name}://{local_address(endpoint.host, endpoint.port)}"
    return f"{shown} (on every address of this machine)" if is_every_address(endpoint.host) else shown
