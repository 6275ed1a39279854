"""The log line at the end of a start: addresses, data, console, and what to type next."""

import os
from collections.abc import Sequence

from ...config.listeners import is_every_address
from ..metadata.address import Address, local_address
from ..network.settings import Endpoint

__all__ = ["ready_line"]


def ready_line(
    endpoints: Sequence[Endpoint],
    http: Sequence[Endpoint] = (),
    *,
    data: Sequence[str] = (),
    console: str | None = None,
    is_first_try: bool = False,
    has_test_kit: bool = False,
    is_local: bool = False,
) -> str:
    """The line.

    Args:
        http: the addresses of the HTTP endpoint.
        data: the log directories.
        console: the address of the web console.
        is_first_try: whether to name a command to try.
        has_test_kit: whether to say that HTTP clients may break the broker.
        is_local: whether to say that only this machine reaches the broker, and how to open it.
    """
    line = "pybroker is ready: listening on " + ", ".join(map(_shown, (*endpoints, *http)))
    if data:
        line += f"; data in {', '.join(map(os.path.abspath, data))}"
    if console is not None:
        line += f"; console at {console}"
    if has_test_kit:
        line += "; FOR TESTS ONLY (--test-kit): HTTP clients may set faults under /v1/test"
    if is_local:
        line += "; only this machine reaches it, until you add --override listeners=PLAINTEXT://:9092"
    return f"{line}; try: {_first_command(endpoints[0])}" if is_first_try else line


def _first_command(endpoint: Endpoint) -> str:
    address = local_address(endpoint.host, endpoint.port)
    where = "" if address == Address("localhost", 9092) else f" -b {address}"
    return f"pybroker topics create demo{where}"


def _shown(endpoint: Endpoint) -> str:
    """The address; for a listener on every address, the one that clients on this machine use."""
    shown = f"{endpoint.listener_name}://{local_address(endpoint.host, endpoint.port)}"
    return f"{shown} (on every address of this machine)" if is_every_address(endpoint.host) else shown
