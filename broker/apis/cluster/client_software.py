"""The name and version of a client's software, which ApiVersions tells since version 3 (KIP-511)."""

from ....base.kafka_names import SOFTWARE_NAME
from ....protocol.messages.api_versions import ApiVersionsRequest
from ...requests.context import RequestContext

__all__ = ["FIRST_WITH_SOFTWARE", "accepts_software"]

FIRST_WITH_SOFTWARE = 3
_LONGEST_SOFTWARE = 100


def accepts_software(context: RequestContext, request: ApiVersionsRequest) -> bool:
    """Whether the client names its software well, if its version of the request has that; it is remembered."""
    if context.api_version < FIRST_WITH_SOFTWARE:
        return True
    if not _names_its_software(request):
        return False
    software = f"{request.client_software_name} {request.client_software_version}"
    context.address.software = software[:_LONGEST_SOFTWARE]
    return True


def _names_its_software(request: ApiVersionsRequest) -> bool:
    name, version = request.client_software_name, request.client_software_version
    return SOFTWARE_NAME.fullmatch(name) is not None and SOFTWARE_NAME.fullmatch(version) is not None
