"""DescribeUserScramCredentials (KIP-554): the mechanisms and iterations of users; never their salts or keys."""

import logging

from ....base.acls import AclOperation
from ....controller.tree.client_entities import settings_of_users
from ....controller.tree.config_tree import ConfigTree
from ....controller.tree.entity_names import can_be_node
from ....protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
)
from ....protocol.scram import ScramMechanism
from ...requests.context import RequestContext
from ...security.sasl.scram_administration import credentials_in, described_users

__all__ = ["DescribeUserScramCredentials"]

logger = logging.getLogger(__name__)


class DescribeUserScramCredentials:
    """Handler."""

    def __init__(self, tree: ConfigTree) -> None:
        self._tree = tree

    async def __call__(
        self, context: RequestContext, request: DescribeUserScramCredentialsRequest
    ) -> DescribeUserScramCredentialsResponse:
        context.require_on_cluster(AclOperation.DESCRIBE)
        asked = [each.name for each in request.users or ()]
        users = [user for user in dict.fromkeys(asked) if can_be_node(user)] if asked else None
        stored = {
            user: credentials_in(settings, _malformed)
            for user, settings in (await settings_of_users(self._tree, users)).items()
        }
        return DescribeUserScramCredentialsResponse(results=described_users(asked, stored))


def _malformed(mechanism: ScramMechanism, error: ValueError) -> None:
    logger.debug("a %s credential is left out: %s", mechanism.name, error)
