"""The APIs of ACLs, SASL, SCRAM credentials and delegation tokens, with their handlers.

The broker has PLAINTEXT listeners only and no authorizer. Each API answers as Kafka does in that configuration.
"""

from collections.abc import Mapping

from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode
from ...requests.context import Handler
from ...security.operations import AclOperation
from ..broker_parts import BrokerParts
from ..refusal import refuse
from .alter_user_scram_credentials import alter_user_scram_credentials
from .delegation_tokens import create_delegation_token, expire_delegation_token, renew_delegation_token
from .describe_user_scram_credentials import describe_user_scram_credentials

__all__ = ["security_apis"]


def security_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    return {
        # SASL: a client on a PLAINTEXT listener counts as authenticated from the start.
        ApiKey.SASL_HANDSHAKE: refuse(ErrorCode.ILLEGAL_SASL_STATE),
        ApiKey.SASL_AUTHENTICATE: refuse(
            ErrorCode.ILLEGAL_SASL_STATE,
            "SaslAuthenticate request received after successful authentication",
        ),
        # ACLs (KIP-140)
        ApiKey.DESCRIBE_ACLS: refuse(
            ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker", AclOperation.DESCRIBE
        ),
        ApiKey.CREATE_ACLS: refuse(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.", AclOperation.ALTER),
        ApiKey.DELETE_ACLS: refuse(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.", AclOperation.ALTER),
        # Delegation tokens (KIP-48) need an authenticated client.
        ApiKey.CREATE_DELEGATION_TOKEN: create_delegation_token,
        ApiKey.RENEW_DELEGATION_TOKEN: renew_delegation_token,
        ApiKey.EXPIRE_DELEGATION_TOKEN: expire_delegation_token,
        ApiKey.DESCRIBE_DELEGATION_TOKEN: refuse(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED),
        # SCRAM credentials (KIP-554)
        ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: describe_user_scram_credentials,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS: alter_user_scram_credentials,
    }
