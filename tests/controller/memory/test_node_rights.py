"""Access control lists of a tree in memory, side by side with those of a real ZooKeeper.

Three clients act on both: one that has not authenticated, and two users. Each call must have the same result.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoAuthError
from kazoo.protocol.states import WatchedEvent, ZnodeStat
from kazoo.security import ACL, Id, make_acl, make_digest_acl
from pybroker.controller.tree.node_rights import Permission
from support.examples import examples
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.served_tree import ServedTree
from support.time.patience import await_that

USERS = ("", "ann:secret", "bob:other")
ROOTS = count()
PATHS = st.sampled_from(["/a", "/a/b", "/c"])
VERSIONS = st.sampled_from([-1, 0, 1])
PERMISSIONS = st.one_of(st.just(31), st.integers(0, 31))
# An empty id twice in a list is an error of ZooKeeper 3.8's own.
IDS = st.sampled_from(
    [
        ("world", "anyone"),
        ("world", "someone"),
        ("auth", "me"),
        ("ip", "127.0.0.1"),
        ("ip", "127.0.0.0/8"),
        ("ip", "10.0.0.1"),
        ("ip", "10.0.0.0/99"),
        ("ip", "localhost"),
        ("digest", "ann"),
        ("digest", ":x"),
        ("digest", "a:b:c"),
        ("sasl", "ann"),
        ("x509", "CN=ann"),
        ("nonsense", "x"),
    ]
)
ENTRIES = st.one_of(
    st.builds(lambda permissions, identity: ACL(permissions, Id(*identity)), PERMISSIONS, IDS),
    st.builds(lambda permissions, user: hashed(permissions, *user.split(":")), PERMISSIONS, st.sampled_from(USERS[1:])),
)
ACLS = st.lists(ENTRIES, max_size=3)
Act = Callable[[KazooClient, str], object]


def hashed(permissions: int, user: str, password: str) -> ACL:
    return ACL(permissions, make_digest_acl(user, password, all=True).id)


def transaction(client: KazooClient, root: str, path: str, acl: list[ACL], version: int) -> object:
    """Creates a node and one below it, which the first one's list may forbid, and checks a version."""
    request = client.transaction()
    request.create(root + path, b"", acl)
    request.create(f"{root}{path}/below", b"", acl)
    request.check(root + "/c", version)
    return [type(result) if isinstance(result, Exception) else result[len(root) :] for result in request.commit()[:2]]


@dataclass(frozen=True)
class RandomAct:
    """A call of one of kazoo's methods, or a transaction."""

    method: str
    path: str
    acl: list[ACL]
    version: int

    def __call__(self, client: KazooClient, root: str) -> object:
        path = root + self.path
        match self.method:
            case "create":
                return client.create(path, b"", self.acl)[len(root) :]
            case "set_acls":
                return client.set_acls(path, self.acl, self.version)
            case "set":
                return client.set(path, b"x", self.version)
            case "delete":
                return client.delete(path, self.version)
            case "get_children":
                return sorted(client.get_children(path))
            case "transaction":
                return transaction(client, root, self.path, self.acl, self.version)
            case _:
                return getattr(client, self.method)(path)


METHODS = ("create", "set_acls", "set", "delete", "get_children", "transaction", "get_acls", "get", "exists")
ACTS = st.builds(RandomAct, st.sampled_from(METHODS), PATHS, ACLS, VERSIONS)
STEPS = st.lists(st.tuples(st.integers(0, len(USERS) - 1), ACTS), min_size=3, max_size=12)


@pytest.fixture(scope="module")
def served() -> Iterator[ServedTree]:
    served = ServedTree()
    yield served
    served.close()


@pytest.fixture(scope="module")
def both(served: ServedTree, zookeeper: ZooKeeperProcess) -> Iterator[list[list[KazooClient]]]:
    """The three clients on each of the servers."""
    clients = [[client_of(server, user) for user in USERS] for server in (served.connect, zookeeper.connect)]
    yield clients
    for client in clients[0] + clients[1]:
        client.stop()
        client.close()


def client_of(server: str, user: str = "") -> KazooClient:
    client = KazooClient(server, auth_data=[("digest", user)] if user else None)
    client.start()
    return client


def outcome(act: Act, client: KazooClient, root: str) -> object:
    try:
        return comparable(act(client, root))
    except KazooException as error:
        return type(error)


def comparable(result: object) -> object:
    match result:
        case ZnodeStat():
            return (result.version, result.cversion, result.aversion, result.dataLength, result.numChildren)
        case (first, ZnodeStat() as stat):
            return (comparable(first), comparable(stat))
        case _:
            return result


@settings(max_examples=examples(40))
@given(ACLS, STEPS)
def test_every_call_under_acls_has_the_result_of_zookeeper(
    both: list[list[KazooClient]], acl: list[ACL], steps: list[tuple[int, RandomAct]]
) -> None:
    root = f"/rights-{next(ROOTS)}"
    for clients in both:
        clients[1].create(root)
        clients[1].create(root + "/a")
        outcome(lambda client, root: client.set_acls(root + "/a", acl), clients[1], root)
    for number, (user, act) in enumerate(steps):
        ours, theirs = (outcome(act, clients[user], root) for clients in both)
        assert ours == theirs, f"step {number} by {USERS[user] or 'nobody'}"


SINGLE_ACTS: list[Act] = [
    lambda c, root: c.create(root + "/a/new")[len(root) :],
    lambda c, root: c.get(root + "/a"),
    lambda c, root: c.get_acls(root + "/a"),
    lambda c, root: c.exists(root + "/a"),
    lambda c, root: sorted(c.get_children(root + "/a")),
    lambda c, root: transaction(c, root, "/a/in", [make_acl("world", "anyone", all=True)], -1),
    lambda c, root: c.set(root + "/a", b"y", -1),
    lambda c, root: c.set_acls(root + "/a", [hashed(31, "ann", "secret")], 1),
    lambda c, root: c.set_acls(root + "/a", [hashed(31, "ann", "secret")], 0),
    lambda c, root: c.delete(root + "/a/new", 7),
    lambda c, root: c.delete(root + "/a/old"),
]
"""In an order in which none forbids the next."""


@pytest.mark.parametrize("user", range(len(USERS)), ids=lambda user: USERS[user].partition(":")[0] or "nobody")
def test_each_permission_alone_allows_what_it_does_in_zookeeper(both: list[list[KazooClient]], user: int) -> None:
    for permission in Permission:
        root = f"/permissions-{next(ROOTS)}"
        for clients in both:
            clients[0].create(root)
            clients[0].create(root + "/c", b"", [hashed(permission, "ann", "secret")])
            clients[0].create(root + "/a")
            clients[0].create(root + "/a/old")
            clients[0].set_acls(root + "/a", [hashed(permission, "ann", "secret")])
        results = [[outcome(act, clients[user], root) for act in SINGLE_ACTS] for clients in both]
        assert results[0] == results[1], permission
        assert NoAuthError in results[0]


def test_owner_of_a_closed_node_shows_others_neither_data_nor_hash_nor_changes(both: list[list[KazooClient]]) -> None:
    for nobody, ann, _ in both:
        told: list[WatchedEvent] = []
        assert nobody.exists("/closed", told.append) is None
        acl = [make_digest_acl("ann", "secret", all=True), make_acl("world", "anyone", read=True)]
        ann.create("/closed", b"x", acl[:1])
        with pytest.raises(NoAuthError):
            nobody.get("/closed")
        with pytest.raises(NoAuthError):
            nobody.get_acls("/closed")
        assert told == [], "a node that may not be read was announced"
        ann.set_acls("/closed", acl)
        assert [entry.id.id for entry in nobody.get_acls("/closed")[0]] == ["ann:x", "anyone"]
        assert [entry.id.id for entry in ann.get_acls("/closed")[0]] == [acl[0].id.id, "anyone"]
        nobody.get("/closed", told.append)
        ann.set("/closed", b"y")
        nobody.sync("/closed")
        await_that(told.__len__, "the client's thread for watches tells of the change")
        assert [event.type for event in told] == ["CHANGED"]


def test_user_authenticates_again_after_a_reconnection(both: list[list[KazooClient]], served: ServedTree) -> None:
    ann = client_of(served.connect, "ann:secret")
    ann.create("/mine", b"x", [make_digest_acl("ann", "secret", all=True)])
    for connection in [*served.connections]:
        served.post(connection.close)
    assert ann.retry(ann.get, "/mine")[0] == b"x"
    nobody: Any = both[0][0]
    with pytest.raises(NoAuthError):
        nobody.retry(nobody.get, "/mine")
    ann.stop()
    ann.close()
