"""The APIs of ACLs, SASL, SCRAM credentials and delegation tokens, with their handlers.

Without an authorizer, and without delegation tokens, each API answers as Kafka does then.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ....base.acls import AclOperation
from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode
from ...requests.context import Handler
from ..broker_parts import BrokerParts
from ..refusal import refuse
from .alter_user_scram_credentials import AlterUserScramCredentials
from .delegation_tokens import (
    create_delegation_token,
    describe_delegation_token,
    expire_delegation_token,
    renew_delegation_token,
)
from .describe_user_scram_credentials import DescribeUserScramCredentials

if TYPE_CHECKING:
    from ...security.acl.acl_administration import AclAdministration

__all__ = ["security_apis"]


def security_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    return {
        # SASL: where clients log in, the gate of the connection takes these (`broker/security/login_gate.py`).
        ApiKey.SASL_HANDSHAKE: refuse(ErrorCode.ILLEGAL_SASL_STATE),
        ApiKey.SASL_AUTHENTICATE: refuse(
            ErrorCode.ILLEGAL_SASL_STATE,
            "SaslAuthenticate request received after successful authentication",
        ),
        **(_without_authorizer() if parts.acls is None else _acl_apis(parts.acls)),
        # Delegation tokens (KIP-48)
        ApiKey.CREATE_DELEGATION_TOKEN: create_delegation_token,
        ApiKey.RENEW_DELEGATION_TOKEN: renew_delegation_token,
        ApiKey.EXPIRE_DELEGATION_TOKEN: expire_delegation_token,
        ApiKey.DESCRIBE_DELEGATION_TOKEN: describe_delegation_token,
        # SCRAM credentials (KIP-554)
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: DescribeUserScramCredentials(parts.metadata.tree),
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: AlterUserScramCredentials(
            parts.metadata.tree, lambda: parts.metadata.controller.is_active, parts.settings.changes.caught_up
        ),
    }


def _without_authorizer() -> Mapping[ApiKey, Handler]:
    code = ErrorCode.SECURITY_DISABLED
    return {
        ApiKey.DESCRIBE_ACLS: refuse(code, "No Authorizer is configured on the broker", AclOperation.DESCRIBE),
        ApiKey.CREATE_ACLS: refuse(code, "No Authorizer is configured.", AclOperation.ALTER),
        ApiKey.DELETE_ACLS: refuse(code, "No Authorizer is configured.", AclOperation.ALTER),
    }


def _acl_apis(acls: "AclAdministration") -> Mapping[ApiKey, Handler]:
    from .create_acls import CreateAcls  # not needed without an authorizer
    from .delete_acls import DeleteAcls
    from .describe_acls import DescribeAcls

    return {
        ApiKey.DESCRIBE_ACLS: DescribeAcls(acls),
        ApiKey.CREATE_ACLS: CreateAcls(acls),
        ApiKey.DELETE_ACLS: DeleteAcls(acls),
    }
