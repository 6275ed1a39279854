"""Finds the handler of an HTTP request by its path."""

from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import unquote

from ...base.frozen import frozen
from .http_error import HttpError
from .request import HttpRequest
from .response import HttpResponse

__all__ = ["Handler", "Route", "Router", "only_served"]

_MOST_REQUESTS = 32
_READS = ("GET", "HEAD")
Handler = Callable[[HttpRequest], HttpResponse | Awaitable[HttpResponse]]


@frozen(eq=False)
class Route:
    """``methods``: those that the handler answers. ``is_public``: needs no token. ``is_for_probes``: answered also
    while the broker stops. ``most``: the number of requests that may be under way."""

    pattern: tuple[str, ...]
    handler: Handler
    is_public: bool
    is_for_probes: bool
    most: int
    methods: tuple[str, ...] = _READS

    def params(self, segments: list[str]) -> dict[str, str] | None:
        """The named parts of a path; None when the path does not match."""
        if len(segments) != len(self.pattern):
            return None
        params = {}
        for expected, segment in zip(self.pattern, segments, strict=True):
            if expected.startswith("{"):
                params[expected[1:-1]] = segment
            elif expected != segment:
                return None
        return params


class Router:
    """Routes may be added at any time. The first route that matches wins, so that ``/a/b`` comes before ``/a/{c}``."""

    def __init__(self) -> None:
        self._routes: list[Route] = []
        self.methods = frozenset(_READS)
        """The methods that some route takes."""

    def get(
        self,
        pattern: str,
        handler: Handler,
        *,
        is_public: bool = False,
        is_for_probes: bool = False,
        most: int = _MOST_REQUESTS,
    ) -> None:
        """``handler`` answers GET and HEAD. ``{name}`` in ``pattern`` stands for one part of the path, not empty.

        A handler raises HttpError to refuse. Any other error is logged and answered with 500. A request above ``most``
        that are under way gets 503.
        """
        self._routes.append(Route(tuple(pattern.split("/")), handler, is_public, is_for_probes, most))

    def write(self, method: str, pattern: str, handler: Handler) -> None:
        """``handler`` answers requests of ``method``, such as POST, which may have a body. The same rules as for `get`
        apply."""
        self._routes.append(Route(tuple(pattern.split("/")), handler, False, False, _MOST_REQUESTS, (method,)))
        self.methods |= {method}

    def find(self, request: HttpRequest) -> tuple[Route, HttpRequest]:
        """The route of a request, and the request with its ``params``. Raises HttpError 404, 405 for a method that the
        path does not have, and 400 for a path that is not UTF-8."""
        segments = _segments(request.path)
        methods: list[str] = []
        for route in self._routes:
            params = route.params(segments)
            if params is None or not all(params.values()):
                continue
            if request.method in route.methods:
                return route, request.with_params(params)
            methods += route.methods
        if methods:
            raise only_served(methods)
        first = ", ".join("/".join(route.pattern) for route in self._routes if len(route.pattern) == 2)
        raise HttpError(404, f"no such path; there are {first}")


def only_served(methods: Iterable[str]) -> HttpError:
    """The refusal of a method that is not among ``methods``."""
    names = sorted(set(methods))
    text = f"only {' and '.join(names)} {'is' if len(names) == 1 else 'are'} served"
    return HttpError(405, text, (("Allow", ", ".join(names)),))


def _segments(path: str) -> list[str]:
    """Split before decoding, so that a group's id may contain %2F."""
    try:
        return [unquote(segment, errors="strict") for segment in path.split("/")]
    except UnicodeDecodeError as error:
        raise HttpError(400, "the path is not UTF-8") from error
