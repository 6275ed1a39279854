"""ApiVersions: which APIs, in which versions, this broker serves.

v0 list of ranges; v1 throttle time; v2 no change; v3 flexible, client's software name and version, features (KIP-511,
KIP-584); v4 features whose lowest version is 0. A client that asks in a version we lack is answered in version 0 with
UNSUPPORTED_VERSION and our range for ApiVersions alone (KIP-511), so that it can ask again.
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


# Kafka's own admin client asks DescribeTopicPartitions wherever it is served, and kafka-topics then prints empty
# eligible leader replicas; from Metadata it knows that there are none to be told of.
KAFKAS_CLIENT, NOT_FOR_IT = "apache-kafka-java", ApiKey.DESCRIBE_TOPIC_PARTITIONS


class ApiVersions:
    """Derived from the table of handlers: what is served is listed, and nothing else.

    Kafka's own clients are not told of the one API that a Kafka with ZooKeeper is without.
    """

    def __init__(self, served: Iterable[ApiKey]) -> None:
        self._api_keys = [advertised_range(key) for key in sorted({*served, ApiKey.API_VERSIONS})]
        self._for_kafkas_client = [each for each in self._api_keys if each.api_key != NOT_FOR_IT]

    def __call__(self, context: RequestContext, request: ApiVersionsRequest) -> ApiVersionsResponse:
        if context.api_version >= 3 and not names_its_software(request):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        # The epoch of finalized features is the version of /feature, which nobody changes in ZooKeeper mode.
        is_kafkas = context.api_version >= 3 and request.client_software_name == KAFKAS_CLIENT
        api_keys = self._for_kafkas_client if is_kafkas else self._api_keys
        return ApiVersionsResponse(api_keys=api_keys, finalized_features_epoch=0)


def names_its_software(request: ApiVersionsRequest) -> bool:
    name, version = request.client_software_name, request.client_software_version
    return SOFTWARE_NAME.fullmatch(name) is not None and SOFTWARE_NAME.fullmatch(version) is not None


def with_api_versions(handlers: Mapping[ApiKey, Handler]) -> dict[ApiKey, Handler]:
    """``handlers`` with the handler of ApiVersions, which lists them."""
    return {**handlers, ApiKey.API_VERSIONS: ApiVersions(handlers)}
