"""One broker of a cluster, as a test names it: ``cluster.brokers[2]``."""

from typing import NamedTuple

from ...faults.faults import FaultsOfBroker
from .remote_faults import RemoteFaults

__all__ = ["BrokerOfCluster"]


class BrokerOfCluster(NamedTuple):
    """``bootstrap_servers``: its own address. ``faults``: sets faults on this broker only."""

    id: int
    bootstrap_servers: str
    faults: FaultsOfBroker | RemoteFaults
