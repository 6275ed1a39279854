"""A registered broker of a real cluster that accepts connections but never responds, and whose fetches a test sends."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from pybroker.controller.tree.znodes import BrokerInfo, RegisteredEndpoint
from pybroker.protocol.messages import fetch as f
from pybroker.protocol.records.batch import iter_batches
from support.clients.wire_client import WireClient
from support.processes.zookeeper_tree import client_of

__all__ = ["SILENT_ID", "FollowerOf", "silent_member"]

SILENT_ID = 9
_BACKLOG = 128
_FETCH_VERSION = 11


@contextmanager
def silent_member(connect: str) -> Iterator[None]:
    """Registers broker `SILENT_ID` in the ZooKeeper tree `connect`. Requests to it stay without a response."""
    with socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) as server, client_of(connect) as client:
        endpoint = RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "127.0.0.1", server.getsockname()[1])
        info = BrokerInfo(SILENT_ID, (endpoint,), 1)
        client.create(info.path, info.encode(), ephemeral=True)
        yield


class FollowerOf:
    """Fetches a partition as the silent broker. Each fetch tells the leader how far this replica has the log."""

    def __init__(self, bootstrap_servers: str, topic: str, partition: int) -> None:
        self._client = WireClient(bootstrap_servers)
        self._topic, self._partition = topic, partition
        self._position = 0

    def has_new_records(self) -> bool:
        """Whether the leader has records that this replica does not have. Moves nothing."""
        return self._fetch() > self._position

    def catch_up(self) -> None:
        """Fetch to the end of the leader's log, so that all of it is committed."""
        while (end := self._fetch()) > self._position:
            self._position = end

    def close(self) -> None:
        self._client.close()

    def _fetch(self) -> int:
        asked = f.FetchPartition(
            partition=self._partition, fetch_offset=self._position, partition_max_bytes=1 << 20, current_leader_epoch=-1
        )
        topics = [f.FetchTopic(topic=self._topic, partitions=[asked])]
        request = f.FetchRequest(replica_id=SILENT_ID, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=topics)
        answer = self._client.ask(request, _FETCH_VERSION)
        (found,) = answer.responses[0].partitions
        assert not found.error_code, found
        ends = [batch.last_offset + 1 for batch in iter_batches(found.records or b"")]
        return ends[-1] if ends else self._position
