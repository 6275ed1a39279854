"""Settings of users, client ids and addresses: the quotas of all of them, and the credentials of users."""

from collections.abc import Callable, Mapping
from functools import partial

from ...controller.config_changes import Take
from ...controller.tree.client_entities import read_client_entities
from ...controller.tree.config_tree import ConfigTree
from ..quotas.quota_entity import CLIENTS, IPS, USERS, entity_of_node
from ..quotas.quota_settings import QuotaSettings

__all__ = ["EntitySettings", "TakeUser"]

TakeUser = Callable[[str, Mapping[str, str]], None]
"""``(user, settings)``: all settings of a user, for `EntitySettings.on_user`; empty when the user has none any more."""


class EntitySettings:
    """Hands the settings to the parts that act on them: to ``quotas``, and those of users to `on_user`."""

    def __init__(self) -> None:
        self._take_user: TakeUser | None = None

    def on_user(self, take: TakeUser) -> None:
        """Call ``take`` for each user at `load`, so this must be called before, and after each change of a user."""
        self._take_user = take

    async def load(self, tree: ConfigTree, quotas: QuotaSettings) -> None:
        """Before the first client connects. Raises MetadataStoreError."""
        self._quotas = quotas
        entities = await read_client_entities(tree)
        for (entity_type, name), settings in entities.items():
            self._tell_user(entity_type, name, settings)
        await quotas.load(entities)

    @property
    def takers(self) -> Mapping[str, Take]:
        """The functions that apply changes, by type of entity."""
        return {entity_type: partial(self._take, entity_type) for entity_type in (USERS, CLIENTS, IPS)}

    async def _take(self, entity_type: str, name: str, settings: Mapping[str, str]) -> None:
        self._tell_user(entity_type, name, settings)
        await self._quotas.take(entity_type, name, settings)

    def _tell_user(self, entity_type: str, name: str, settings: Mapping[str, str]) -> None:
        entity = entity_of_node(entity_type, name)
        if self._take_user is None or entity is None or entity.client_id is not None:
            return
        if isinstance(entity.user, str):  # the default entity is no user
            self._take_user(entity.user, settings)
