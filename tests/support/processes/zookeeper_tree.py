"""What stands in a ZooKeeper: a cluster's tree, to be looked at from outside."""

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
    """``value``: the JSON value of its data, or the text where it is none. ``acl``: scheme, id and permissions of
    each who may do something."""

    value: object
    version: int
    is_ephemeral: bool
    acl: tuple[tuple[str, str, int], ...]


@contextmanager
def client_of(connect: str | KazooClient) -> Iterator[KazooClient]:
    """Of an address, or one that is not started yet; started meanwhile."""
    client = KazooClient(connect) if isinstance(connect, str) else connect
    try:
        client.start(HANGS_AFTER_S)
        yield client
    finally:
        client.stop()
        client.close()


def read_tree(connect: str | KazooClient) -> dict[str, TreeNode]:
    """The nodes below the root that ``connect`` names, by path. What comes or goes meanwhile may be left out."""
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
