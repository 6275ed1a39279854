"""Tests that a silent broker leaves no connection open, which a later test would be charged for."""

import asyncio
import socket
from pathlib import Path

from support.in_process.broker_cluster import BrokerCluster
from support.in_process.silent_broker import SilentBroker


async def test_connection_that_is_accepted_while_the_broker_leaves_is_closed(tmp_path: Path) -> None:
    cluster, silent = BrokerCluster(tmp_path), SilentBroker()
    await cluster.start(1)
    await silent.join(cluster.zookeeper)
    await silent.leave()
    await cluster.close()
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    with ours:
        taking = asyncio.create_task(silent._take(reader, writer))
        await asyncio.wait([taking], timeout=10)
        assert writer.is_closing()
    await taking
