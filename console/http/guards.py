"""Guards of every request: which sites may send it, and what a page of the console may do.

**Why.** A page of another site can make a browser send requests to the console, and by DNS rebinding even read the
answers. **How.** Host, Origin and Sec-Fetch-Site must be the console's own. A request that changes something needs a
header that other sites cannot set.
"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .path_names import undecoded
from .replies import HttpProblem, error_reply

OWN_HEADER = "x-pybroker-console"
_SAFE_METHODS = ("GET", "HEAD")
_OWN_SITES = ("same-origin", "none")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MAX_PATH = 4_096

CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    ]
)
_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def refusal(method: str, path: str, headers: Headers, hosts: frozenset[str]) -> HttpProblem | None:
    """Returns why a request is refused; None if it may pass. `hosts`: the console's names, without ports."""
    host = _host_name(headers.get("host", ""))
    if host not in hosts:
        return HttpProblem(421, "the console does not know this host name; give it with --url")
    if len(path) > _MAX_PATH:
        return HttpProblem(414, "the path is too long")
    site = headers.get("sec-fetch-site")
    is_navigation = method == "GET" and not path.startswith("/api/")
    if site is not None and site not in _OWN_SITES and not is_navigation:
        return HttpProblem(403, "requests from other sites are refused")
    if method in _SAFE_METHODS:
        return None
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != headers.get("host"):
        return HttpProblem(403, "requests from other sites are refused")
    if OWN_HEADER not in headers:
        return HttpProblem(403, "the header X-Pybroker-Console is missing")
    return None


def own_hosts(addresses: Iterable[str], url: str | None) -> frozenset[str]:
    """Returns the names by which browsers may reach the console: those it listens on, and that of its public URL."""
    names = {name.lower() for name in addresses}
    if names & {*_LOOPBACK, "0.0.0.0", "::", ""}:
        names |= set(_LOOPBACK)
    if url is not None:
        names.add((urlsplit(url).hostname or "").lower())
    return frozenset(names)


class Guards:
    """Refuses requests, and adds the headers of security to every reply."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        is_static = scope["path"].startswith("/static/")

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers["cache-control"] = "no-cache" if is_static else "no-store"
            await send(message)

        refused = refusal(scope["method"], scope["path"], Headers(scope=scope), self._hosts)
        if refused is not None:
            await error_reply(refused)(scope, receive, send_guarded)
            return
        raw_path = scope.get("raw_path") or scope["path"].encode()
        await self._app({**scope, "path": undecoded(raw_path)}, receive, send_guarded)


def _host_name(host: str) -> str:
    """Returns the name without the port; IPv6 addresses without brackets."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
