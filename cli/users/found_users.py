"""Reads the SCRAM users of a cluster (DescribeUserScramCredentials, Kafka 2.7 or newer)."""

from collections.abc import Sequence

from ...client.admin_cluster import AdminCluster
from ...client.response_error import response_error
from ...protocol.errors import ErrorCode
from ...protocol.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from ...protocol.scram import SCRAM_MECHANISMS
from .shapes import Credential, ScramUser

__all__ = ["MECHANISMS", "found_users"]

MECHANISMS = {name.rpartition("-")[2]: mechanism for name, mechanism in SCRAM_MECHANISMS.items()}
"""The mechanisms by the words of ``--scram``."""
_NAMES = {mechanism.code: name for name, mechanism in SCRAM_MECHANISMS.items()}


def found_users(cluster: AdminCluster, names: Sequence[str] | None = None) -> list[ScramUser]:
    """These users or all users, by name; a user without credentials is left out. Raises KafkaError."""
    asked = None if names is None else [UserName(name=name) for name in names]
    response = cluster.ask_any(DescribeUserScramCredentialsRequest(users=asked))
    if response.error_code:
        raise response_error(response, "users cannot be listed")
    users = []
    for result in sorted(response.results, key=lambda each: each.user):
        if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        if result.error_code:
            raise response_error(result, f"user {result.user}")
        credentials = tuple(
            Credential(mechanism=_NAMES.get(each.mechanism, f"unknown {each.mechanism}"), iterations=each.iterations)
            for each in sorted(result.credential_infos, key=lambda each: each.mechanism)
        )
        users.append(ScramUser(user=result.user, credentials=credentials))
    return users
