"""pybroker: a Kafka-compatible broker in Python.

This file imports nothing at run time: the root of the repository is the package itself, and test runners import it
under whatever name the checkout's folder has.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .broker.library.broker import Broker
    from .broker.library.cluster.cluster import Cluster

__all__ = ["Broker", "Cluster"]


def __getattr__(name: str) -> Any:
    if name == "Broker":
        from .broker.library.broker import Broker

        return Broker
    if name == "Cluster":
        from .broker.library.cluster.cluster import Cluster

        return Cluster
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
