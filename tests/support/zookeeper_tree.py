"""What stands in a ZooKeeper: a cluster's tree, to be looked at from outside."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

__all__ = ["TreeNode", "client_of", "read_tree"]


class TreeNode(NamedTuple):
    """``value``: the JSON value of its data, or the text where it is none."""

    value: object
    version: int
    is_ephemeral: bool


@contextmanager
def client_of(connect: str) -> Iterator[KazooClient]:
    client = KazooClient(connect)
    client.start()
    try:
        yield client
    finally:
        client.stop()
        client.close()


def read_tree(connect: str) -> dict[str, TreeNode]:
    """The nodes below the root that ``connect`` names, by path. What comes or goes meanwhile may be left out."""
    found: dict[str, TreeNode] = {}
    with client_of(connect) as client:
        pending = [f"/{child}" for child in client.get_children("/") if child != "zookeeper"]
        while pending:
            path = pending.pop()
            try:
                data, stat = client.get(path)
                pending += [f"{path}/{child}" for child in client.get_children(path)]
            except NoNodeError:
                continue
            found[path] = TreeNode(_value(data or b""), stat.version, stat.ephemeralOwner != 0)
    return found


def _value(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode()
