"""Names in paths. A name may contain any character, also `/` as `%2F`, so paths are matched before they are decoded."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.requests import Request

from .replies import HttpProblem


def undecoded(raw_path: bytes) -> str:
    """Returns a path in ASCII as the browser sent it, without its query."""
    return quote(raw_path.partition(b"?")[0], safe="/%!$&'()*+,;=:@~")


def path_name(request: Request, name: str) -> str:
    """Returns a name in the path. Raises HttpProblem when it is not UTF-8."""
    try:
        return unquote(request.path_params[name], errors="strict")
    except UnicodeDecodeError:
        raise HttpProblem(400, "the path is not UTF-8") from None
