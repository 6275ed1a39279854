"""Handlers of APIs that are answered with the same error whatever the request says."""

from typing import Any

from ...base.acls import AclOperation
from ...protocol.errors import ErrorCode, error_for
from ..requests.context import Handler, RequestContext

__all__ = ["refuse"]


def refuse(code: ErrorCode, message: str | None = None, needs: AclOperation | None = None) -> Handler:
    """A handler that raises this error: the response then has the code wherever its API has a field for it.

    ``needs``: the right to the cluster without which the error is a denial.
    """

    def handler(context: RequestContext, request: Any) -> Any:
        if needs is not None:
            context.require_on_cluster(needs)
        raise error_for(code, message)

    return handler
