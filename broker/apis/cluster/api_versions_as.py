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
from ...requests.group_features import CONSUMER_GROUP_APIS, GroupFeatures
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
        group_features: GroupFeatures,
        versions: ServedVersions,
        release: Release,
    ) -> None:
        self._features = features
        self._group_features = group_features
        self._feature_block = release.feature_block
        listed = sorted({*served, ApiKey.API_VERSIONS} & versions.listed.keys())
        self._api_keys = [versions.listed_range(key) for key in listed]

    def __call__(self, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
        if not accepts_software(context, request):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        groups = self._group_features
        hidden = groups.hidden_apis
        api_keys = [each for each in self._api_keys if each.api_key not in hidden]
        if not groups.consumer.is_served:
            api_keys = [_without_consumer_groups(each) for each in api_keys]
        response = ApiVersionsResponse(api_keys=api_keys)
        match self._feature_block:
            case FeatureBlock.EPOCH:
                response.finalized_features_epoch = self._features.epoch
            case FeatureBlock.LEVELS:
                add_feature_levels(response, self._features, groups, context.api_version, is_offered=True)
        return response


def _without_consumer_groups(listed: ApiVersion) -> ApiVersion:
    """As in Kafka 3.9: the consumer protocol is listed in version 0, which refuses it."""
    return replace(listed, max_version=0) if listed.api_key in CONSUMER_GROUP_APIS else listed
