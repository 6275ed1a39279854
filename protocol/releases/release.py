"""A release of Apache Kafka: its APIs, their versions, and how it answers what it does not know."""

from collections.abc import Mapping
from enum import Enum

from ...base.frozen import frozen
from ..apis import API_SPECS, ApiKey
from ..codec.schema import NO_VERSIONS, VersionRange
from .table import CHANGES, OTHER_APIS

__all__ = ["RELEASES", "FeatureBlock", "Release", "release_named"]

RELEASES = tuple(CHANGES)
"""The names of all known releases, oldest first."""

_FIRST_NAMING_RANGE = "2.4"
_FIRST_WITH_EPOCH = "2.7"
_FIRST_WITH_LEVELS = "4.0"
_NUMBERS: Mapping[str, int] = {**{spec.name: key for key, spec in API_SPECS.items()}, **OTHER_APIS}


class FeatureBlock(Enum):
    """The content of the tagged fields of ApiVersions (KIP-584)."""

    NONE = "nothing"
    """the release has no such fields"""
    EPOCH = "the epoch alone"
    """a cluster on ZooKeeper has no features"""
    LEVELS = "supported and finalized features"


@frozen
class Release:
    """``versions``: what the release accepts, by number of API; APIs that pybroker does not know are among them.

    ``names_range_when_too_new``: an ApiVersions request of a version that the release lacks is answered with the range
    that it has (KIP-511), not with an empty list.
    """

    name: str
    versions: Mapping[int, VersionRange]
    names_range_when_too_new: bool
    feature_block: FeatureBlock

    def listed_versions(self, key: int) -> VersionRange:
        """The versions in the response to ApiVersions. Raises KeyError for an API that the release lacks.

        Kafka 4 lists Produce from version 0 and accepts it from 3 on, because librdkafka looks for an old version
        (KAFKA-18659).
        """
        versions = self.versions[key]
        return VersionRange(0, versions.last) if key == ApiKey.PRODUCE else versions


def release_named(name: str) -> Release:
    """The release of one of the names in ``RELEASES``. Raises KeyError."""
    versions: dict[int, VersionRange] = {}
    for each in RELEASES[: _place(name) + 1]:
        for change in CHANGES[each].split(","):
            api, text = change.split()
            versions[_NUMBERS[api]] = VersionRange.parse(text)
    features = FeatureBlock.LEVELS if _place(name) >= _place(_FIRST_WITH_LEVELS) else FeatureBlock.EPOCH
    return Release(
        name,
        {key: versions[key] for key in sorted(versions) if versions[key] != NO_VERSIONS},
        names_range_when_too_new=_place(name) >= _place(_FIRST_NAMING_RANGE),
        feature_block=features if _place(name) >= _place(_FIRST_WITH_EPOCH) else FeatureBlock.NONE,
    )


def _place(name: str) -> int:
    if name not in CHANGES:
        raise KeyError(name)
    return RELEASES.index(name)
