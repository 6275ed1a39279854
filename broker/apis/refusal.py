"""Handlers of APIs that are answered with the same error whatever the request says."""

from typing import Any

from ...protocol.errors import ErrorCode, error_for
from ..requests.context import Handler, RequestContext

__all__ = ["refuse"]


def refuse(code: ErrorCode, message: str | None = None) -> Handler:
    """A handler that raises this error: the response then has the code wherever its API has a field for it."""

    def handler(context: RequestContext, request: Any) -> Any:
        raise error_for(code, message)

    return handler
