"""SCRAM users in a cluster's metadata tree."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace

from ....config.config import Config
from ....config.load import with_overrides
from ....controller.tree.client_entities import USERS, change_client_entity, settings_of_users
from ....controller.tree.cluster_tree import ClusterTree
from ....controller.tree.entity_names import encode_entity_name
from ....controller.tree.zookeeper_settings import ZooKeeperSettings
from ....controller.tree.zookeeper_store import ZooKeeperStore
from ....protocol.scram import MIN_ITERATIONS, SCRAM_MECHANISMS
from .scram_credential import ScramCredential
from .scram_users import salt_text

__all__ = ["ScramUserStore", "new_credentials", "users_in_zookeeper"]

_SALT_BITS = 130


class ScramUserStore:
    """The users of one tree. All methods may raise MetadataStoreError and ZnodeDecodeError."""

    def __init__(self, tree: ClusterTree) -> None:
        self._tree = tree

    async def set_user(self, user: str, credentials: Mapping[str, ScramCredential]) -> None:
        """Replace the credentials of the given mechanisms; brokers that run are notified."""
        texts = {mechanism: credential.encode() for mechanism, credential in credentials.items()}
        await self._tree.create_persistent_paths()
        await self._change(user, lambda settings: {**settings, **texts})

    async def remove_user(self, user: str) -> bool:
        """Remove all SCRAM credentials; returns whether there were any. Quotas of the user stay."""
        settings = await self._tree.config(USERS, encode_entity_name(user))
        if settings.keys().isdisjoint(SCRAM_MECHANISMS):
            return False
        await self._change(
            user, lambda settings: {name: text for name, text in settings.items() if name not in SCRAM_MECHANISMS}
        )
        return True

    async def users(self) -> dict[str, list[str]]:
        """Each user with its mechanisms, sorted by name."""
        await self._tree.create_persistent_paths()
        found = {
            user: [mechanism for mechanism in SCRAM_MECHANISMS if mechanism in settings]
            for user, settings in (await settings_of_users(self._tree)).items()
        }
        return {user: found[user] for user in sorted(found) if found[user]}

    async def _change(self, user: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> None:
        await change_client_entity(self._tree, USERS, encode_entity_name(user), change)


def new_credentials(
    password: str, mechanisms: Iterable[str] = SCRAM_MECHANISMS, iterations: int = MIN_ITERATIONS
) -> dict[str, ScramCredential]:
    """By mechanism, each with a random salt."""
    return {
        name: ScramCredential.of_password(
            SCRAM_MECHANISMS[name], password, salt_text(secrets.randbits(_SALT_BITS)), iterations
        )
        for name in mechanisms
    }


@asynccontextmanager
async def users_in_zookeeper(connect: str, config: Config) -> AsyncIterator[ScramUserStore]:
    """``connect``: ``host:port,…/path``. Raises MetadataStoreError."""
    settings = ZooKeeperSettings.from_config(with_overrides(config, {"zookeeper.connect": connect}))
    store = await ZooKeeperStore.open(replace(settings, is_guarded=False))
    try:
        yield ScramUserStore(ClusterTree(store))
    finally:
        await store.close()
