"""Ports for processes that are restarted, with several test runs on one machine."""

from pybroker.broker.library.cluster.ports import free_ports

__all__ = ["free_port"]


def free_port() -> int:
    """Returns a port that stays free while nobody listens, as long as this process lives.

    It is outside the range that the system assigns to connections and listeners, so a restarted broker finds its port
    free, and other test runs choose other ports.
    """
    (port,) = free_ports(1)
    return port
