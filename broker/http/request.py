"""An HTTP request, as handlers get it."""

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Self
from urllib.parse import parse_qsl

from ...base.frozen import frozen
from .http_error import HttpError

__all__ = ["HttpRequest"]

_MAX_QUERY_FIELDS = 100


@frozen
class HttpRequest:
    """Attributes:
    method: GET or HEAD; others only where a route takes them.
    path: as it was sent, still percent-encoded, without the query.
    params: the parts of the path that the route's pattern names, decoded.
    query: the query's fields, decoded; the last of several with one name.
    headers: by name in lower case; the last of several with one name.
    body: empty for GET and HEAD.
    """

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @classmethod
    def of_target(cls, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> Self:
        """``target``: path and query. Raises HttpError when it cannot be decoded."""
        path, _, query = target.partition("?")
        if not path.startswith("/"):
            raise HttpError(400, "the path must begin with /")
        try:
            fields = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=_MAX_QUERY_FIELDS)
        except ValueError as error:
            raise HttpError(400, "the query is not UTF-8, or has too many fields") from error
        return cls(method, path, {}, dict(fields), headers, body)

    def with_params(self, params: Mapping[str, str]) -> Self:
        return replace(self, params=params)
