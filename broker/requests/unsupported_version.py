"""The response to an ApiVersions request whose version this broker does not serve (KIP-511)."""

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.errors import ErrorCode
from ...protocol.messages.api_versions import ApiVersion, ApiVersionsResponse

__all__ = ["advertised_range", "unsupported_version_response"]


def advertised_range(key: ApiKey) -> ApiVersion:
    """The versions of ``key`` that clients are told of."""
    spec = API_SPECS[key]
    advertised = spec.advertised or spec.versions
    return ApiVersion(api_key=key, min_version=advertised.first, max_version=advertised.last)


def unsupported_version_response() -> ApiVersionsResponse:
    """UNSUPPORTED_VERSION and the range of ApiVersions, with which the client asks again. Encode it as version 0."""
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=[advertised_range(ApiKey.API_VERSIONS)]
    )
