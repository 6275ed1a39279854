"""The words by which health checks ask a ZooKeeper for its state, on a connection of their own: ``ruok``, ``srvr``,
``stat`` and ``mntr``."""

from ....base.frozen import frozen

__all__ = ["WORDS", "DoorState", "answer_to"]

WORDS = frozenset({b"ruok", b"srvr", b"stat", b"mntr"})
_VERSION = "3.8.4-pybroker"
"""The release of ZooKeeper whose protocol is spoken; tools read the number from it."""


@frozen
class DoorState:
    """``clients``: the addresses of all connections. The other numbers are those of the tree."""

    clients: tuple[str, ...]
    last_zxid: int
    nodes: int
    ephemeral_nodes: int
    watches: int
    size_bytes: int


def answer_to(word: bytes, state: DoorState) -> bytes:
    """The text with which a ZooKeeper answers one of `WORDS`."""
    if word == b"ruok":
        return b"imok"
    if word == b"mntr":
        return "".join(f"zk_{name}\t{value}\n" for name, value in _figures(state).items()).encode()
    lines = [f"Zookeeper version: {_VERSION}"]
    if word == b"stat":
        lines += ["Clients:", *(f" {client}[1]" for client in state.clients), ""]
    lines += [
        f"Connections: {len(state.clients)}",
        "Outstanding: 0",
        f"Zxid: {state.last_zxid:#x}",
        "Mode: standalone",
        f"Node count: {state.nodes}",
    ]
    return ("\n".join(lines) + "\n").encode()


def _figures(state: DoorState) -> dict[str, object]:
    return {
        "version": _VERSION,
        "server_state": "standalone",
        "num_alive_connections": len(state.clients),
        "outstanding_requests": 0,
        "znode_count": state.nodes,
        "ephemerals_count": state.ephemeral_nodes,
        "watch_count": state.watches,
        "approximate_data_size": state.size_bytes,
    }
