"""ApiVersions: the APIs that this broker serves, and their versions.

Behaviour: a request in a version that the broker lacks is answered in version 0 with UNSUPPORTED_VERSION and the range
of ApiVersions alone, so that the client can ask again (KIP-511). `api_versions_as.py` answers as a release of Kafka.

v1 throttle time · v3 flexible; the client's software name and version, features (KIP-511, KIP-584) · v4 features whose
lowest version is 0.
"""

from collections.abc import Iterable, Mapping
from functools import cache

from ....controller.features import FeatureLevels
from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode
from ....protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from ...coordinator.transaction.states import EPOCH_BUMP_VERSION
from ...requests.context import Handler, RequestContext
from ...requests.group_features import CONSUMER_GROUP_APIS, GroupFeatures
from ...requests.served_versions import OWN_VERSIONS, ServedVersions
from .client_software import FIRST_WITH_SOFTWARE, accepts_software
from .feature_block import add_feature_levels, has_levels

__all__ = ["ApiVersions", "with_api_versions"]


# Kafka's admin client sends DescribeTopicPartitions wherever it is listed, and kafka-topics then prints empty eligible
# leader replicas. Without it the client sends Metadata, and kafka-topics prints none.
JAVA_CLIENT, HIDDEN_FROM_JAVA_CLIENT = "apache-kafka-java", ApiKey.DESCRIBE_TOPIC_PARTITIONS


_WITH_BUMPED_EPOCHS = {ApiKey.PRODUCE: 12, ApiKey.END_TXN: 5, ApiKey.TXN_OFFSET_COMMIT: 5}
"""These versions are for producers that get a new epoch with every transaction (KIP-890)."""


class ApiVersions:
    """Handler. ``served``: the APIs in the table of handlers, which are the ones listed.

    Kafka's Java client does not see DescribeTopicPartitions, which Kafka with ZooKeeper does not serve. A cluster on
    ZooKeeper answers as Kafka 3.9, without features, until the level of one is raised.
    """

    def __init__(
        self, served: Iterable[ApiKey], features: FeatureLevels, group_features: GroupFeatures, *, is_in_cluster: bool
    ) -> None:
        self._features = features
        self._group_features = group_features
        self._is_in_cluster = is_in_cluster
        self._served = frozenset({*served, ApiKey.API_VERSIONS})

    def __call__(self, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
        if not accepts_software(context, request):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        features, groups = self._features, self._group_features
        is_java_client = context.api_version >= FIRST_WITH_SOFTWARE and request.client_software_name == JAVA_CLIENT
        api_keys = _listed(
            self._served,
            groups.hidden_apis,
            bumps_epochs=features.transaction_version >= EPOCH_BUMP_VERSION,
            has_consumer_groups=groups.consumer.is_served,
            is_java_client=is_java_client,
        )
        response = ApiVersionsResponse(api_keys=api_keys)
        is_offered = not self._is_in_cluster or has_levels(features, groups)
        add_feature_levels(response, features, groups, context.api_version, is_offered=is_offered)
        return response


def _last_versions(*, bumps_epochs: bool, has_consumer_groups: bool) -> Mapping[ApiKey, int]:
    """The last versions that features add."""
    of_groups = CONSUMER_GROUP_APIS if has_consumer_groups else {}
    return {**_WITH_BUMPED_EPOCHS, **of_groups} if bumps_epochs else of_groups


@cache  # all brokers of a process list the same few sets of APIs
def _listed(
    served: frozenset[ApiKey],
    hidden: frozenset[ApiKey],
    *,
    bumps_epochs: bool,
    has_consumer_groups: bool,
    is_java_client: bool,
) -> list[ApiVersion]:
    left_out = {*hidden, HIDDEN_FROM_JAVA_CLIENT} if is_java_client else hidden
    last = _last_versions(bumps_epochs=bumps_epochs, has_consumer_groups=has_consumer_groups)
    ranges = [OWN_VERSIONS.listed_range(key) for key in sorted(served - left_out)]
    for each in ranges:
        each.max_version = last.get(ApiKey(each.api_key), each.max_version)
    return ranges


def with_api_versions(
    handlers: Mapping[ApiKey, Handler],
    features: FeatureLevels,
    versions: ServedVersions = OWN_VERSIONS,
    group_features: GroupFeatures | None = None,
    *,
    is_in_cluster: bool,
) -> dict[ApiKey, Handler]:
    """``handlers`` with the handler of ApiVersions, which lists them. ``versions`` may be those of a release.

    ``group_features``: None where the settings ask for the classic protocol only.
    """
    groups = group_features or GroupFeatures.asked_for(features, [], is_in_cluster=is_in_cluster)
    if versions.release is not None:
        from .api_versions_as import ApiVersionsAs  # imported only here: faster start without

        return {**handlers, ApiKey.API_VERSIONS: ApiVersionsAs(handlers, features, groups, versions, versions.release)}
    return {**handlers, ApiKey.API_VERSIONS: ApiVersions(handlers, features, groups, is_in_cluster=is_in_cluster)}
