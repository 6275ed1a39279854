"""The broker's authorizer: decides by the ACLs in the metadata tree, which it follows (Kafka's AclAuthorizer)."""

import asyncio
import logging
from typing import TYPE_CHECKING

from ..config.authorization import AuthorizationSettings, misspelt_super_users, warning_of_open_store
from ..config.config import Config
from ..controller.tree.metadata_store import MetadataStore
from .environment import Environment
from .settings.loggers import LoggerLevels

if TYPE_CHECKING:
    from ..controller.live_acls import LiveAcls
    from .security.acl.access import Access
    from .security.acl.acl_administration import AclAdministration

__all__ = ["Authorization"]

logger = logging.getLogger(__name__)

_SHORTEST_WAIT_S, _LONGEST_WAIT_S = 0.1, 0.15


class Authorization:
    """``access`` decides about requests, ``administration`` changes ACLs; both are None without an authorizer."""

    def __init__(self) -> None:
        self.access: Access | None = None
        self.administration: AclAdministration | None = None
        self._live: LiveAcls | None = None

    async def load(self, config: Config, store: MetadataStore, environment: Environment, loggers: LoggerLevels) -> None:
        """Read all ACLs. Raises MetadataStoreError, and ZnodeDecodeError for ACLs that cannot be decoded."""
        settings = AuthorizationSettings.from_config(config)
        if settings is None:
            return
        from ..base.acl_rules.acl_index import AclIndex
        from ..base.acl_rules.authorizer import AclAuthorizer
        from ..controller.acl_tree import AclTree  # not needed without an authorizer
        from ..controller.live_acls import LiveAcls
        from .security.acl.access import Access
        from .security.acl.acl_administration import AclAdministration
        from .security.acl.authorizer_log import AuthorizerLog

        async def wait() -> None:
            await asyncio.sleep(environment.random.uniform(_SHORTEST_WAIT_S, _LONGEST_WAIT_S))

        index, tree = AclIndex(), AclTree(store, wait)
        self._live = LiveAcls(tree, index.replace, environment.clock_ms, is_alone=config.uses_embedded_store)
        await self._live.load()
        authorizer = AclAuthorizer(index, settings.super_users, allow_everyone=settings.allow_everyone)
        self.access = Access(authorizer, AuthorizerLog(asyncio.get_running_loop().time))
        loggers.when_changed(self.access.log_level_changed)
        self.administration = AclAdministration(tree, self._live)
        if (warning := warning_of_open_store(config)) is not None:
            logger.warning("%s", warning)
        for user, remedy in misspelt_super_users(config, settings.super_users):
            logger.warning("no certificate makes its client the super user %r: %s", user, remedy)

    async def run(self) -> None:
        """Apply the changes of ACLs until the store is closed."""
        if self._live is not None:
            await self._live.run()
