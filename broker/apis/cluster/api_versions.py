"""ApiVersions: the APIs that this broker serves, and their versions.

Behaviour: a request in a version that the broker lacks is answered in version 0 with UNSUPPORTED_VERSION and the range
of ApiVersions alone, so that the client can ask again (KIP-511).

v1 throttle time · v3 flexible; the client's software name and version, features (KIP-511, KIP-584) · v4 features whose
lowest version is 0.
"""

import re
from collections.abc import Iterable, Mapping

from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode
from ....protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from ...requests.context import Handler, RequestContext
from ...requests.unsupported_version import advertised_range

__all__ = ["ApiVersions", "with_api_versions"]

# Kafka's rule for the software name and version that a client gives (KIP-511).
SOFTWARE_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


# Kafka's admin client sends DescribeTopicPartitions wherever it is listed, and kafka-topics then prints empty eligible
# leader replicas. Without it the client sends Metadata, and kafka-topics prints none.
JAVA_CLIENT, HIDDEN_FROM_JAVA_CLIENT = "apache-kafka-java", ApiKey.DESCRIBE_TOPIC_PARTITIONS


class ApiVersions:
    """Handler. ``served``: the APIs in the table of handlers, which are the ones listed.

    Kafka's Java client does not see DescribeTopicPartitions, which Kafka with ZooKeeper does not serve.
    """

    def __init__(self, served: Iterable[ApiKey]) -> None:
        self._api_keys = [advertised_range(key) for key in sorted({*served, ApiKey.API_VERSIONS})]
        self._for_java_client = [each for each in self._api_keys if each.api_key != HIDDEN_FROM_JAVA_CLIENT]

    def __call__(self, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
        if context.api_version >= 3 and not names_its_software(request):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        # The epoch of finalized features is the version of the node /feature, which never changes in ZooKeeper mode.
        is_java_client = context.api_version >= 3 and request.client_software_name == JAVA_CLIENT
        api_keys = self._for_java_client if is_java_client else self._api_keys
        return ApiVersionsResponse(api_keys=api_keys, finalized_features_epoch=0)


def names_its_software(request: ApiVersionsRequest) -> bool:
    name, version = request.client_software_name, request.client_software_version
    return SOFTWARE_NAME.fullmatch(name) is not None and SOFTWARE_NAME.fullmatch(version) is not None


def with_api_versions(handlers: Mapping[ApiKey, Handler]) -> dict[ApiKey, Handler]:
    """``handlers`` with the handler of ApiVersions, which lists them."""
    return {**handlers, ApiKey.API_VERSIONS: ApiVersions(handlers)}
