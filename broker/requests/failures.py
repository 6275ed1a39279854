"""The response to a request that failed as a whole: the error code at the top, and for each item of the request."""

from collections.abc import Mapping
from typing import Any

from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.errors import KafkaError
from .item_errors import ITEM_ERRORS
from .partition_errors import PARTITION_ERRORS
from .set_error import ErrorShape, set_error
from .share_state_errors import SHARE_STATE_ERRORS

__all__ = ["failure_needs_request", "failure_response"]

_ERROR_SHAPES: Mapping[ApiKey, ErrorShape] = {**PARTITION_ERRORS, **ITEM_ERRORS, **SHARE_STATE_ERRORS}
"""How an API repeats the error for each item of the request. Other APIs have it at the top of the response alone."""


def failure_needs_request(key: ApiKey) -> bool:
    """Whether `failure_response` looks at the request. A request that waits is only kept if so."""
    return key in _ERROR_SHAPES


def failure_response(key: ApiKey, version: int, request: Any, error: KafkaError) -> Any:
    """The response message that answers all of ``request`` with ``error``; None when the client expects no response.

    Raises NotImplementedError for an API without an error code at the top and without a function in `partition_errors`
    or `item_errors`: a client would read its failure as a success.
    """
    if key is ApiKey.PRODUCE and request.acks == 0:
        return None
    shape = _ERROR_SHAPES.get(key)
    response: Any = API_SPECS[key].response_type()() if shape is None else shape(version, request, error)
    if shape is None and not hasattr(response, "error_code"):
        raise NotImplementedError(
            f"{key.name} has no error code at the top and no function in partition_errors.py or item_errors.py"
        )
    set_error(response, error, version)
    return response
