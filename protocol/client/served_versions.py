"""The versions of each API that a broker serves, as its ApiVersions response lists them."""

from __future__ import annotations

from collections.abc import Mapping

from ...base.frozen import frozen
from ..apis import ApiSpec
from ..codec.schema import VersionRange
from ..messages.api_versions import ApiVersionsResponse
from .errors import UnsupportedApiError

__all__ = ["ServedVersions"]


@frozen
class ServedVersions:
    """Ranges by API key. Any Kafka broker from 2.1 to 4.x has a version in common with `API_SPECS` for each API that
    both have, except the share group APIs: Kafka 4.0 dropped old versions (KIP-896) but serves those of 3.9."""

    ranges: Mapping[int, VersionRange]

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> ServedVersions:
        return cls({each.api_key: VersionRange(each.min_version, each.max_version) for each in response.api_keys})

    def newest_common(self, spec: ApiSpec, usable: VersionRange | None = None) -> int:
        """The newest version of an API that the broker serves, `API_SPECS` knows and ``usable`` allows (None: all).

        Raises UnsupportedApiError when there is none.
        """
        served = self.ranges.get(spec.key)
        if served is None:
            raise UnsupportedApiError(f"does not serve {spec.name}")
        ours = spec.versions if usable is None else usable
        version = min(served.last, ours.last, spec.max_version)
        if version < max(served.first, ours.first, spec.min_version):
            raise UnsupportedApiError(f"serves {spec.name} in versions {served}, but this client needs {ours}")
        return version
