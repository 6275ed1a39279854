"""Reads a cluster's tree in ZooKeeper from outside."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.security import ACL
from support.time.patience import HANGS_AFTER_S

__all__ = ["TreeNode", "client_of", "read_tree"]


class TreeNode(NamedTuple):
    """A node. `value`: the JSON value of its data, or text. `acl`: scheme, id and permissions."""

    value: object
    version: int
    is_ephemeral: bool
    acl: tuple[tuple[str, str, int], ...]


@contextmanager
def client_of(connect: str | KazooClient) -> Iterator[KazooClient]:
    """Yields a started client for an address or an unstarted client."""
    client = KazooClient(connect) if isinstance(connect, str) else connect
    try:
        client.start(HANGS_AFTER_S)
        yield client
    finally:
        client.stop()
        client.close()


def read_tree(connect: str | KazooClient) -> dict[str, TreeNode]:
    """Returns the nodes below the root of `connect`, by path. Nodes that change meanwhile may be missing."""
    found: dict[str, TreeNode] = {}
    with client_of(connect) as client:
        pending = [f"/{child}" for child in client.get_children("/") if child != "zookeeper"]
        while pending:
            path = pending.pop()
            try:
                data, stat = client.get(path)
                pending += [f"{path}/{child}" for child in client.get_children(path)]
                acl, _ = client.get_acls(path)
            except NoNodeError:
                continue
            found[path] = TreeNode(_value(data or b""), stat.version, stat.ephemeralOwner != 0, _plain(acl))
    return found


def _plain(acl: list[ACL]) -> tuple[tuple[str, str, int], ...]:
    return tuple((each.id.scheme, each.id.id, each.perms) for each in acl)


def _value(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode()
