"""Registers this broker in the metadata tree; also gives broker ids and the cluster id."""

import asyncio
import logging
from random import Random
from uuid import UUID

from ..base.uuid_text import uuid_text
from .tree import znodes
from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import (
    ConnectionLossError,
    Create,
    MetadataStoreError,
    NodeExistsError,
    NoNodeError,
    SetData,
    SetDataResult,
    WatchEvent,
)
from .tree.znodes import BrokerInfo

__all__ = [
    "BrokerIdTakenError",
    "BrokerRegistration",
    "cluster_id",
    "earlier_broker_id",
    "generate_broker_id",
    "holds_cluster",
]

logger = logging.getLogger(__name__)


class BrokerIdTakenError(Exception):
    """Another live broker is registered under this broker's id."""


async def cluster_id(tree: ClusterTree, random: Random) -> str:
    """The cluster id (base64 of 16 bytes); the cluster's first broker generates it."""
    try:
        data, _ = await tree.store.get(znodes.CLUSTER_ID_PATH)
    except NoNodeError:
        fresh = uuid_text(UUID(bytes=random.randbytes(16)))
        await tree.ensure(znodes.CLUSTER_ID_PATH, znodes.encode_cluster_id(fresh))
        data, _ = await tree.store.get(znodes.CLUSTER_ID_PATH)
    return znodes.decode_cluster_id(data)


async def holds_cluster(tree: ClusterTree, has_id: bool) -> bool:
    """Whether the tree belongs to a cluster already.

    ``has_id``: the cluster has an id, so its tree must contain it. A cluster of Kafka before 0.10.1 has none, and its
    tree is known by its topics.
    """
    if await tree.store.exists(znodes.CLUSTER_ID_PATH) is not None:
        return True
    topics = None if has_id else await tree.store.exists(znodes.TOPICS_PATH)
    return topics is not None and topics.num_children > 0


async def earlier_broker_id(tree: ClusterTree, reserved_max: int) -> int | None:
    """The id of the only broker of a tree, for a broker that has lost its own: the id that topics are assigned to, or
    else the last one generated. None when there was no broker, or there were several."""
    infos = await tree.topic_infos(await tree.topics())
    assigned = {broker for info in infos for replicas in info.partitions.values() for broker in replicas.replicas}
    if assigned:
        return assigned.pop() if len(assigned) == 1 else None
    stat = await tree.store.exists(znodes.BROKER_SEQUENCE_PATH)
    return reserved_max + stat.version if stat is not None and stat.version > 0 else None


async def generate_broker_id(tree: ClusterTree, reserved_max: int) -> int:
    """A new broker id above ``reserved_max`` (``reserved.broker.max.id``), never given before.

    As in Kafka, it comes from the version of a node that is written once for each id.
    """
    await tree.ensure(znodes.BROKER_SEQUENCE_PATH)
    stat = await tree.store.set(znodes.BROKER_SEQUENCE_PATH, b"")
    return reserved_max + stat.version


class BrokerRegistration:
    """The ephemeral node that shows that a broker is alive.

    Its czxid is the broker epoch, which tells one run of the broker from earlier runs.
    """

    def __init__(self, tree: ClusterTree) -> None:
        self._tree = tree
        self._own_sessions: list[int] = []

    async def register(self, info: BrokerInfo, wait_ms: int) -> int:
        """Create the node; returns the broker epoch.

        An existing node may belong to a session that is ending: wait up to ``wait_ms`` (session timeout and a margin).
        A node of an earlier session of this process is removed at once. Raises BrokerIdTakenError, and
        SessionExpiredError when the present session is over.
        """
        store = self._tree.store
        self._own_sessions.append(store.session_id)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_ms / 1000
        may_be_made = False
        while True:
            try:
                # One transaction: only setData returns a stat, and the czxid must be that of this creation.
                _, written = await store.multi(
                    [Create(info.path, ephemeral=True), SetData(info.path, info.encode(), 0)]
                )
            except ConnectionLossError:
                may_be_made = True  # creating it again will show
                continue
            except NodeExistsError:
                if may_be_made and (own := await self._made_before(info)) is not None:
                    return own
                await self._make_way(info, deadline)
                continue
            assert isinstance(written, SetDataResult)
            logger.info("broker %d is registered, broker epoch %d", info.broker_id, written.stat.czxid)
            return written.stat.czxid

    async def update(self, info: BrokerInfo) -> None:
        """Change the listeners or features of a registered broker; its epoch stays. Does nothing when this broker is
        not registered."""
        if await self._is_own(info.path):
            await self._tree.store.set(info.path, info.encode())

    async def unregister(self, broker_id: int) -> None:
        try:
            if await self._is_own(znodes.broker_path(broker_id)):
                await self._tree.store.delete(znodes.broker_path(broker_id))
        except MetadataStoreError as error:
            logger.warning("broker %d stays registered until its session ends: %s", broker_id, error)

    async def _is_own(self, path: str) -> bool:
        """Whether this session created the node. After a lost session another broker may have taken the id; its node
        must not be changed or removed."""
        stat = await self._tree.store.exists(path)
        return stat is not None and stat.ephemeral_owner == self._tree.store.session_id

    async def _made_before(self, info: BrokerInfo) -> int | None:
        """The broker epoch if this session created the node but the response was lost."""
        try:
            stat = await self._tree.store.exists(info.path)
        except ConnectionLossError:
            return None
        if stat is None or stat.ephemeral_owner != self._tree.store.session_id:
            return None
        logger.info("broker %d was registered, broker epoch %d", info.broker_id, stat.czxid)
        return stat.czxid

    async def _make_way(self, info: BrokerInfo, deadline: float) -> None:
        store = self._tree.store
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()

        def tell(_event: WatchEvent) -> None:
            gone.set()

        stat = await store.exists(info.path, tell)
        if stat is None:
            return
        if stat.ephemeral_owner in self._own_sessions and stat.ephemeral_owner != store.session_id:
            try:
                # Delete only the version just read, so that a node that was set since is spared. A new node of another
                # broker would also have version 1, which ZooKeeper cannot tell apart; Kafka deletes any node.
                await store.delete(info.path, stat.version)
            except MetadataStoreError:
                logger.info("the node of an earlier session of this broker has already gone")
            return
        owner = await self._owner(info.broker_id)
        wait_s = max(deadline - loop.time(), 0)
        if wait_s:
            logger.warning(
                "broker id %d is taken by a broker at %s; if that broker has died, its session 0x%x ends within %.0f s",
                info.broker_id,
                owner,
                stat.ephemeral_owner,
                wait_s,
            )
        try:
            async with asyncio.timeout(wait_s):
                await gone.wait()
        except TimeoutError:
            left = await store.exists(info.path)  # the watch may be lost with this broker's own session
            if left is None or left.ephemeral_owner != stat.ephemeral_owner:
                return
            raise BrokerIdTakenError(f"broker id {info.broker_id} is taken by a live broker at {owner}") from None

    async def _owner(self, broker_id: int) -> str:
        """The addresses of the registered broker, as far as its node can be read."""
        try:
            other = await self._tree.broker(broker_id)
        except znodes.ZnodeDecodeError:
            other = None
        return ", ".join(map(str, other[0].endpoints)) if other else "an unknown address"
