"""AlterUserScramCredentials (KIP-554): store or delete SCRAM credentials of users.

Behaviour: only the controller does it. The response waits until the credentials are in force on this broker.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from ....base.acls import AclOperation
from ....controller.tree.client_entities import USERS, change_client_entity, settings_of_users
from ....controller.tree.config_tree import ConfigTree
from ....controller.tree.entity_names import encode_entity_name
from ....controller.tree.metadata_store import MetadataStoreError
from ....controller.tree.znodes import ZnodeDecodeError
from ....protocol.errors import ErrorCode, KafkaError, UnknownServerError
from ....protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from ...requests.context import RequestContext
from ...security.sasl.scram_administration import planned_changes, users_to_read

__all__ = ["AlterUserScramCredentials"]

logger = logging.getLogger(__name__)


class AlterUserScramCredentials:
    """Handler. ``caught_up`` waits until the changes written so far are in force on this broker."""

    def __init__(
        self, tree: ConfigTree, is_controller: Callable[[], bool], caught_up: Callable[[], Awaitable[None]]
    ) -> None:
        self._tree = tree
        self._is_controller = is_controller
        self._caught_up = caught_up

    async def __call__(
        self, context: RequestContext, request: AlterUserScramCredentialsRequest
    ) -> AlterUserScramCredentialsResponse:
        if not self._is_controller():
            return _not_controller(request)
        context.require_on_cluster(AclOperation.ALTER)
        stored = await settings_of_users(self._tree, users_to_read(request))
        changes = planned_changes(request, lambda user, mechanism: mechanism in stored.get(user, {}))
        outcomes = await asyncio.gather(*(self._write(user, values) for user, values in changes.settings.items()))
        failed = {user: error for user, error in zip(changes.settings, outcomes, strict=True) if error is not None}
        await self._caught_up()
        return AlterUserScramCredentialsResponse(results=changes.results(failed))

    async def _write(self, user: str, values: Mapping[str, str | None]) -> KafkaError | None:
        def change(settings: Mapping[str, str]) -> Mapping[str, str]:
            return {name: text for name, text in {**settings, **values}.items() if text is not None}

        try:
            await change_client_entity(self._tree, USERS, encode_entity_name(user), change)
        except (MetadataStoreError, ZnodeDecodeError) as error:
            logger.error("the credentials of user %r were not stored: %s", user[:100], error)
            return UnknownServerError("The credentials were not stored")
        return None


def _not_controller(request: AlterUserScramCredentialsRequest) -> AlterUserScramCredentialsResponse:
    users = dict.fromkeys([each.name for each in request.deletions] + [each.name for each in request.upsertions])
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=user,
                error_code=ErrorCode.NOT_CONTROLLER,
                error_message="This is not the correct controller for this cluster.",
            )
            for user in users
        ]
    )
