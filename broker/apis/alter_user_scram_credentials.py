"""AlterUserScramCredentials (KIP-554): refused, as nobody could authenticate with them. There are none to delete."""

from collections import Counter

from ...protocol.errors import (
    DuplicateResourceError,
    KafkaError,
    ResourceNotFoundError,
    UnacceptableCredentialError,
    UnsupportedSaslMechanismError,
)
from ...protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from .context import RequestContext

__all__ = ["alter_user_scram_credentials"]


def alter_user_scram_credentials(
    context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    changes = Counter((deletion.name, deletion.mechanism) for deletion in request.deletions)
    changes.update((upsertion.name, upsertion.mechanism) for upsertion in request.upsertions)
    twice = {user for (user, _), count in changes.items() if count > 1}
    set_anew = {upsertion.name for upsertion in request.upsertions}
    results = []
    for user in dict.fromkeys(user for user, _ in changes):
        error = _refusal(user, is_twice=user in twice, is_set=user in set_anew)
        results.append(AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=error.message))
    return AlterUserScramCredentialsResponse(results=results)


def _refusal(user: str, *, is_twice: bool, is_set: bool) -> KafkaError:
    if not user:
        return UnacceptableCredentialError("Username must not be empty")
    if is_twice:
        return DuplicateResourceError("A user credential cannot be altered twice in the same request")
    if is_set:
        return UnsupportedSaslMechanismError("This broker has no SASL; the credential was not stored.")
    return ResourceNotFoundError("Attempt to delete a user credential that does not exist")
