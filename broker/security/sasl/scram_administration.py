"""The rules of AlterUserScramCredentials and DescribeUserScramCredentials (KIP-554), without I/O.

**How.** The client sends salt and salted password; the broker derives the keys and never sees the password. A bad entry
spoils its user, not the others.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field

from ....base.frozen import frozen
from ....controller.tree.entity_names import can_be_node
from ....protocol.errors import (
    DuplicateResourceError,
    ErrorCode,
    KafkaError,
    ResourceNotFoundError,
    UnacceptableCredentialError,
    UnsupportedSaslMechanismError,
)
from ....protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from ....protocol.messages.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsResult,
)
from ....protocol.scram import MIN_ITERATIONS, SCRAM_MECHANISMS, ScramMechanism
from .scram_credential import MAX_ITERATIONS, ScramCredential

__all__ = ["ScramChanges", "credentials_in", "described_users", "planned_changes", "users_to_read"]

UserCredentials = Mapping[str, ScramCredential]
"""The credentials of one user by mechanism."""

_BY_CODE = {each.code: each for each in SCRAM_MECHANISMS.values()}
_EMPTY_NAME = "Username must not be empty"


@frozen
class ScramChanges:
    """``settings``: for each user to change, the values of its node by mechanism; None removes one.

    ``errors``: for each other user of the request, why nothing is changed.
    """

    settings: Mapping[str, Mapping[str, str | None]] = field(repr=False)
    errors: Mapping[str, KafkaError]

    def results(self, failed_writes: Mapping[str, KafkaError]) -> list[AlterUserScramCredentialsResult]:
        """The response's items, once the settings were written."""
        errors = {**self.errors, **failed_writes}
        succeeded = (AlterUserScramCredentialsResult(user=user) for user in self.settings if user not in errors)
        failed = (
            AlterUserScramCredentialsResult(user=user, error_code=error.code, error_message=error.message)
            for user, error in errors.items()
        )
        return [*failed, *succeeded]


def users_to_read(request: AlterUserScramCredentialsRequest) -> list[str]:
    """The users whose stored credentials `planned_changes` needs to know."""
    return list(dict.fromkeys(each.name for each in request.deletions if can_be_node(each.name)))


def planned_changes(
    request: AlterUserScramCredentialsRequest, has_credential: Callable[[str, str], bool]
) -> ScramChanges:
    """The changes that a request asks for. ``has_credential(user, mechanism)``: whether one is stored."""
    entries: list[ScramCredentialDeletion | ScramCredentialUpsertion] = [*request.deletions, *request.upsertions]
    errors: dict[str, KafkaError] = {}
    for entry in entries:
        fault = _fault(entry)
        if fault is not None:
            errors[entry.name] = fault
    counts = Counter((entry.name, entry.mechanism) for entry in entries if entry.name not in errors)
    for user in (user for (user, _), count in counts.items() if count > 1):
        errors[user] = DuplicateResourceError("A user credential cannot be altered twice in the same request")
    for deletion in request.deletions:
        if deletion.name not in errors and not has_credential(deletion.name, _BY_CODE[deletion.mechanism].name):
            errors[deletion.name] = ResourceNotFoundError("Attempt to delete a user credential that does not exist")
    settings: dict[str, dict[str, str | None]] = {}
    for entry in entries:
        if entry.name not in errors:
            settings.setdefault(entry.name, {})[_BY_CODE[entry.mechanism].name] = _stored_text(entry)
    return ScramChanges(settings, errors)


def _fault(entry: ScramCredentialDeletion | ScramCredentialUpsertion) -> KafkaError | None:
    """The error of an invalid entry. Of several of a user the last counts, upsertions after deletions."""
    if not entry.name:
        return UnacceptableCredentialError(_EMPTY_NAME)
    if not can_be_node(entry.name):
        return UnacceptableCredentialError(f"Username must not be {entry.name}")
    if entry.mechanism not in _BY_CODE:
        return UnsupportedSaslMechanismError("Unknown SCRAM mechanism")
    if isinstance(entry, ScramCredentialDeletion):
        return None
    if entry.iterations < MIN_ITERATIONS:
        return UnacceptableCredentialError("Too few iterations")
    if entry.iterations > MAX_ITERATIONS:
        return UnacceptableCredentialError("Too many iterations")
    if not entry.salt or not entry.salted_password:
        return UnacceptableCredentialError("Salt and salted password must not be empty")
    return None


def _stored_text(entry: ScramCredentialDeletion | ScramCredentialUpsertion) -> str | None:
    if isinstance(entry, ScramCredentialDeletion):
        return None
    salt, salted_password = bytes(entry.salt), bytes(entry.salted_password)
    mechanism = _BY_CODE[entry.mechanism]
    return ScramCredential.of_salted_password(mechanism, salted_password, salt, entry.iterations).encode()


def credentials_in(
    settings: Mapping[str, str], malformed: Callable[[ScramMechanism, ValueError], None]
) -> dict[str, ScramCredential]:
    """The credentials in the node of a user, which may hold quotas too. A malformed credential counts as missing."""
    found = {}
    for name, mechanism in SCRAM_MECHANISMS.items():
        if name in settings:
            try:
                found[name] = ScramCredential.decode(mechanism, settings[name])
            except ValueError as error:
                malformed(mechanism, error)
    return found


def described_users(
    asked: Iterable[str] | None, stored: Mapping[str, UserCredentials]
) -> list[DescribeUserScramCredentialsResult]:
    """The response's items. ``asked``: None or empty: all users with credentials, sorted."""
    mentions = Counter(asked or ())
    if not mentions:
        return [_described(user, stored[user]) for user in sorted(stored) if stored[user]]
    return [_described_by_name(user, count, stored.get(user, {})) for user, count in mentions.items()]


def _described_by_name(user: str, mentions: int, credentials: UserCredentials) -> DescribeUserScramCredentialsResult:
    error = ErrorCode.RESOURCE_NOT_FOUND
    if not user:
        message = _EMPTY_NAME
    elif mentions > 1:
        error = ErrorCode.DUPLICATE_RESOURCE
        message = f"Cannot describe SCRAM credentials for the same user twice in a single request: {user}"
    elif not credentials:
        message = f"Attempt to describe a user credential that does not exist: {user}"
    else:
        return _described(user, credentials)
    return DescribeUserScramCredentialsResult(user=user, error_code=error, error_message=message)


def _described(user: str, credentials: UserCredentials) -> DescribeUserScramCredentialsResult:
    infos = [
        CredentialInfo(mechanism=mechanism.code, iterations=credentials[name].iterations)
        for name, mechanism in SCRAM_MECHANISMS.items()
        if name in credentials
    ]
    return DescribeUserScramCredentialsResult(user=user, credential_infos=infos)
