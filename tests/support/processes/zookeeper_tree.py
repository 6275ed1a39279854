"""Reads a cluster's tree in ZooKeeper from outside."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss, NoNodeError, SessionExpiredError
from kazoo.interfaces import IAsyncResult
from kazoo.security import ACL
from support.time.patience import HANGS_AFTER_S

__all__ = ["TreeNode", "TreeReader", "client_of", "read_tree"]

T = TypeVar("T")


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
    with client_of(connect) as client:
        return _nodes_below("", client)


def _nodes_below(root: str, client: KazooClient) -> dict[str, TreeNode]:
    """Returns the nodes below a path. The requests of each level are sent together."""
    found: dict[str, TreeNode] = {}
    paths = [f"{root}/{child}" for child in client.get_children(root or "/") if f"{root}/{child}" != "/zookeeper"]
    while paths:
        asked = [
            (path, client.get_async(path), client.get_children_async(path), client.get_acls_async(path))
            for path in paths
        ]
        paths = []
        for path, got, children, acls in asked:
            try:
                data, stat = got.get()
                below = [f"{path}/{child}" for child in children.get()]
                acl, _ = acls.get()
            except NoNodeError:
                continue
            paths += below
            found[path] = TreeNode(_value(data or b""), stat.version, stat.ephemeralOwner != 0, _plain(acl))
    return found


class TreeReader:
    """Reads a tree again and again over one connection, which is opened at the first use and after a loss."""

    def __init__(self, connect: str) -> None:
        self._connect = connect
        self._client: KazooClient | None = None

    def below(self, root: str) -> dict[str, TreeNode]:
        """Returns the nodes below a path; none if it does not exist."""
        try:
            return self._ask(lambda client: _nodes_below(root, client))
        except NoNodeError:
            return {}

    def value(self, path: str) -> object:
        """Returns the JSON value of a node's data, or text; None if the node does not exist."""
        return self.values([path])[0]

    def values(self, paths: Sequence[str]) -> list[object]:
        """Returns the `value` of each node. The requests are sent together."""
        return self._ask(lambda client: [_value_of(asked) for asked in [client.get_async(path) for path in paths]])

    def children(self, path: str) -> list[str]:
        """Returns the names of the children; none if the node does not exist."""
        try:
            return self._ask(lambda client: sorted(client.get_children(path)))
        except NoNodeError:
            return []

    def _ask(self, question: Callable[[KazooClient], T]) -> T:
        try:
            return question(self._started())
        except (ConnectionLoss, SessionExpiredError):
            self.close()
            return question(self._started())

    def _started(self) -> KazooClient:
        if self._client is None:
            self._client = KazooClient(self._connect)
            self._client.start(HANGS_AFTER_S)
        return self._client

    def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.stop()
            client.close()


def _plain(acl: list[ACL]) -> tuple[tuple[str, str, int], ...]:
    return tuple((each.id.scheme, each.id.id, each.perms) for each in acl)


def _value_of(asked: IAsyncResult) -> object:
    try:
        data, _ = asked.get()
    except NoNodeError:
        return None
    return _value(data or b"")


def _value(data: bytes) -> object:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode()
