"""Which versions of each API the broker accepts and lists: all that it has, or those of a release of Kafka.

With ``pybroker.as.version`` clients see the APIs and versions that both the broker and the release have. In a cluster
the broker accepts newer requests too, because brokers send them to each other without asking for versions.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...base.frozen import frozen
from ...config.config import Config
from ...config.group_protocols import asks_for_consumer_protocol
from ...config.versions import release_to_answer_as
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec.schema import VersionRange
from ...protocol.errors import ErrorCode
from ...protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from .group_features import CONSUMER_GROUP_APIS

if TYPE_CHECKING:
    from ...protocol.releases.release import Release

__all__ = ["OWN_VERSIONS", "ServedVersions", "served_versions", "versions_as"]


@frozen
class ServedVersions:
    """``accepted``: a request of another version closes its connection. ``listed``: what clients are told.

    ``release``: the release of Kafka as which the broker answers; None: it answers as itself.
    """

    accepted: Mapping[ApiKey, VersionRange]
    listed: Mapping[ApiKey, VersionRange]
    release: "Release | None" = None

    def listed_range(self, key: ApiKey) -> ApiVersion:
        """The versions of ``key`` that clients are told. Raises KeyError for an API that is not in ``listed``."""
        versions = self.listed[key]
        return ApiVersion(api_key=key, min_version=versions.first, max_version=versions.last)

    def too_new_api_versions(self) -> ApiVersionsResponse:
        """UNSUPPORTED_VERSION and the range of ApiVersions, with which the client asks again (KIP-511).

        Encode it as version 0. Kafka before 2.4 sends no range.
        """
        names_range = self.release is None or self.release.names_range_when_too_new
        return ApiVersionsResponse(
            error_code=ErrorCode.UNSUPPORTED_VERSION,
            api_keys=[self.listed_range(ApiKey.API_VERSIONS)] if names_range else [],
        )


_EARLY_ACCESS = frozenset(
    (ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE)
)
"""APIs whose version 0 only Kafka 3.9 and 4.0 have, before share groups were stable."""


def _own_versions(*, has_consumer_groups: bool) -> ServedVersions:
    accepted = {key: spec.versions for key, spec in API_SPECS.items()}
    accepted |= {key: VersionRange(1, accepted[key].last) for key in _EARLY_ACCESS}
    listed = {key: API_SPECS[key].advertised or versions for key, versions in accepted.items()}
    if not has_consumer_groups:
        accepted |= {key: listed[key] for key in CONSUMER_GROUP_APIS}
    return ServedVersions(accepted, listed)


OWN_VERSIONS = _own_versions(has_consumer_groups=False)
_WITH_CONSUMER_GROUPS = _own_versions(has_consumer_groups=True)
"""The versions of a broker whose settings ask for the consumer protocol (KIP-848)."""


def served_versions(config: Config) -> ServedVersions:
    """The versions of a broker with these settings."""
    given = config.optional_string("pybroker.as.version")
    release = None if given is None else release_to_answer_as(given)
    own = _WITH_CONSUMER_GROUPS if asks_for_consumer_protocol(config) else OWN_VERSIONS
    return versions_as(release, own, accepts_all=not config.uses_embedded_store)


def versions_as(name: str | None, own: ServedVersions = OWN_VERSIONS, *, accepts_all: bool = False) -> ServedVersions:
    """The versions of the release ``name``, as far as pybroker has them; None: all that it has.

    ``accepts_all``: others are not listed, but accepted. Raises KeyError for an unknown release.
    """
    if name is None:
        return own
    from ...protocol.releases.release import release_named  # imported only here: faster start without

    release = release_named(name)
    known = {
        key: (_both(versions, release.versions[key]), _both(versions, release.listed_versions(key)))
        for key, versions in own.accepted.items()
        if key in release.versions
    }
    common = {key: both for key, both in known.items() if both[0].first <= both[0].last}
    accepted = own.accepted if accepts_all else {key: each for key, (each, _) in common.items()}
    return ServedVersions(accepted, {key: each for key, (_, each) in common.items()}, release)


def _both(ours: VersionRange, theirs: VersionRange) -> VersionRange:
    return VersionRange(max(ours.first, theirs.first), min(ours.last, theirs.last))
