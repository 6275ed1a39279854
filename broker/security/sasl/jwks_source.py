"""Fetches an issuer's key set from a file or by HTTPS. The call blocks, so it runs in a thread.

**Limits.** The URL comes from the broker's settings alone (CVE-2025-27817). Plain HTTP, redirects and proxies are
refused, because whoever answers decides who may log in. Size and time are bounded.
"""

import http.client
import ssl
import time
from collections.abc import Collection
from urllib.parse import unquote, urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, build_opener

from .jwks import MAX_JWKS_BYTES, JwksError

__all__ = ["check_jwks_url", "fetch_jwks"]

_PIECE_BYTES = 64 * 1024
_OK = 200


def check_jwks_url(url: str, allowed: Collection[str] = ()) -> None:
    """``allowed``: the URLs of ``org.apache.kafka.sasl.oauthbearer.allowed.urls``; empty: all. Raises JwksError."""
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None:
        raise JwksError("the URL of the key set must not contain a user or a password")
    if parts.scheme == "http":
        raise JwksError(f"{url}: plain HTTP lets anybody on the way change the keys; use https or file")
    if parts.scheme not in ("https", "file") or not (parts.path if parts.scheme == "file" else parts.hostname):
        raise JwksError(f"{url}: the URL must begin with https:// or file://")
    if parts.scheme == "file" and parts.netloc not in ("", "localhost"):
        raise JwksError(f"{url}: a file URL must not name a host; write file:///path")
    if allowed and url not in allowed:
        raise JwksError(f"{url}: the URL is not among the allowed ones")


def fetch_jwks(url: str, timeout_s: float, context: ssl.SSLContext | None = None) -> bytes:
    """The content behind a URL that `check_jwks_url` accepts. Raises JwksError."""
    check_jwks_url(url)
    try:
        if url.startswith("file:"):
            with open(unquote(urlsplit(url).path), "rb") as file:
                content = file.read(MAX_JWKS_BYTES + 1)
            _check_size(url, content)
            return content
        return _downloaded(url, timeout_s, context)
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise JwksError(f"{url}: {error}") from error


def _downloaded(url: str, timeout_s: float, context: ssl.SSLContext | None) -> bytes:
    deadline = time.monotonic() + timeout_s
    opener = build_opener(ProxyHandler({}), _NoRedirects(), HTTPSHandler(context=context))
    content = bytearray()
    with opener.open(url, timeout=timeout_s) as response:
        if response.status != _OK:
            raise JwksError(f"{url}: the server answered with status {response.status}")
        while piece := response.read1(_PIECE_BYTES):
            content += piece
            _check_size(url, content)
            if time.monotonic() > deadline:
                raise JwksError(f"{url}: the key set did not arrive within {timeout_s:g} s")
    return bytes(content)


def _check_size(url: str, content: bytes | bytearray) -> None:
    if len(content) > MAX_JWKS_BYTES:
        raise JwksError(f"{url}: the key set has more than {MAX_JWKS_BYTES} bytes")


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *arguments: object, **named: object) -> None:
        """A redirect becomes an HTTPError."""
