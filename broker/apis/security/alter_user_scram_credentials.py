"""AlterUserScramCredentials (KIP-554): store or delete SCRAM credentials. Refused.

No listener has SASL, so nobody could use stored credentials. Deletions fail because no credentials exist.
"""

from collections import Counter

from ....base.acls import AclOperation
from ....protocol.errors import (
    DuplicateResourceError,
    KafkaError,
    ResourceNotFoundError,
    UnacceptableCredentialError,
    UnsupportedSaslMechanismError,
)
from ....protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
)
from ...requests.context import RequestContext

__all__ = ["alter_user_scram_credentials"]


# Kafka's ScramMechanism: SCRAM-SHA-256 and SCRAM-SHA-512, and its bounds for iterations.
_MECHANISMS = (1, 2)
_MIN_ITERATIONS, _MAX_ITERATIONS = 4096, 16384


def alter_user_scram_credentials(
    context: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    context.require_on_cluster(AclOperation.ALTER)
    changes = Counter((deletion.name, deletion.mechanism) for deletion in request.deletions)
    changes.update((upsertion.name, upsertion.mechanism) for upsertion in request.upsertions)
    twice = {user for (user, _), count in changes.items() if count > 1}
    deleted = {deletion.name for deletion in request.deletions}
    faulty = _faults(request)
    results = []
    for user in dict.fromkeys(user for user, _ in changes):
        error = faulty.get(user) or _refusal(is_twice=user in twice, is_deleted=user in deleted)
        results.append(AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=error.message))
    return AlterUserScramCredentialsResponse(results=results)


def _faults(request: AlterUserScramCredentialsRequest) -> dict[str, KafkaError]:
    """User → error of an invalid entry. Of several the last counts; upsertions count after deletions."""
    faults: dict[str, KafkaError] = {}
    entries = [(deletion.name, deletion.mechanism, _MIN_ITERATIONS) for deletion in request.deletions]
    entries += [(upsertion.name, upsertion.mechanism, upsertion.iterations) for upsertion in request.upsertions]
    for name, mechanism, iterations in entries:
        if not name:
            faults[name] = UnacceptableCredentialError("Username must not be empty")
        elif mechanism not in _MECHANISMS:
            faults[name] = UnsupportedSaslMechanismError("Unknown SCRAM mechanism")
        elif not _MIN_ITERATIONS <= iterations <= _MAX_ITERATIONS:
            few = iterations < _MIN_ITERATIONS
            faults[name] = UnacceptableCredentialError(f"Too {'few' if few else 'many'} iterations")
    return faults


def _refusal(*, is_twice: bool, is_deleted: bool) -> KafkaError:
    if is_twice:
        return DuplicateResourceError("A user credential cannot be altered twice in the same request")
    if is_deleted:
        return ResourceNotFoundError("Attempt to delete a user credential that does not exist")
    return UnsupportedSaslMechanismError("The broker does not support SASL. The credential was not stored.")
