"""ApiVersions of a broker that answers as a release of Apache Kafka (``pybroker.as.version``).

It lists the APIs that both the release and this broker have, and the features only as far as the release tells them.
"""

from collections.abc import Iterable
from dataclasses import replace

from ....controller.features import FeatureLevels
from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode
from ....protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from ....protocol.releases.release import FeatureBlock, Release
from ...requests.context import RequestContext
from ...requests.group_version import CONSUMER_GROUP_APIS, SETTINGS_API, GroupVersion
from ...requests.served_versions import ServedVersions
from .client_software import accepts_software
from .feature_block import add_feature_levels

__all__ = ["ApiVersionsAs"]


class ApiVersionsAs:
    """Handler. ``served``: the APIs in the table of handlers; those that the release lacks are not listed."""

    def __init__(
        self,
        served: Iterable[ApiKey],
        features: FeatureLevels,
        group_version: GroupVersion,
        versions: ServedVersions,
        release: Release,
    ) -> None:
        self._features = features
        self._group_version = group_version
        self._feature_block = release.feature_block
        listed = sorted({*served, ApiKey.API_VERSIONS} & versions.listed.keys())
        self._api_keys = [versions.listed_range(key) for key in listed]
        self._without_consumer_groups = [
            _without_consumer_groups(each) for each in self._api_keys if each.api_key != SETTINGS_API
        ]

    def __call__(self, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
        if not accepts_software(context, request):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        has_consumer_groups = self._group_version.level > 0
        response = ApiVersionsResponse(
            api_keys=self._api_keys if has_consumer_groups else self._without_consumer_groups
        )
        match self._feature_block:
            case FeatureBlock.EPOCH:
                response.finalized_features_epoch = self._features.epoch
            case FeatureBlock.LEVELS:
                add_feature_levels(response, self._features, self._group_version, context.api_version, is_offered=True)
        return response


def _without_consumer_groups(listed: ApiVersion) -> ApiVersion:
    """As in Kafka 3.9: the consumer protocol is listed in version 0, which refuses it."""
    return replace(listed, max_version=0) if listed.api_key in CONSUMER_GROUP_APIS else listed
