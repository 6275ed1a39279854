"""DescribeUserScramCredentials (KIP-554): always empty, because no user has credentials.

A user that the request names gets an error.
"""

from collections import Counter

from ....base.acls import AclOperation
from ....protocol.errors import ErrorCode
from ....protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from ...requests.context import RequestContext

__all__ = ["describe_user_scram_credentials"]


def describe_user_scram_credentials(
    context: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    context.require_on_cluster(AclOperation.DESCRIBE)
    mentions = Counter(user.name for user in request.users or ())
    return DescribeUserScramCredentialsResponse(results=[_refusal(*mention) for mention in mentions.items()])


def _refusal(user: str, mentions: int) -> DescribeUserScramCredentialsResult:
    error = ErrorCode.RESOURCE_NOT_FOUND
    if not user:
        message = "Username must not be empty"
    elif mentions > 1:
        error = ErrorCode.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    else:
        message = f"Attempt to describe a user credential that does not exist: {user}"
    return DescribeUserScramCredentialsResult(user=user, error_code=error, error_message=message)
