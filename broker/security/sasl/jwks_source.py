"""Fetches an issuer's key set from a file or by HTTPS. The call blocks, so it runs in a thread.

**Limits.** Plain HTTP, redirects and proxies are refused, because the server's owner decides who may log in. Size and
time are bounded.
"""

import ssl
from collections.abc import Collection

from ....client.oauth.http_exchange import HttpError, HttpLimits, exchange
from ....client.oauth.provider_url import UrlError, check_url, is_file_url, read_file_url
from .jwks import MAX_JWKS_BYTES, JwksError

__all__ = ["check_jwks_url", "fetch_jwks"]

_WHAT = "the key set"
_OK = 200


def check_jwks_url(url: str, allowed: Collection[str] = ()) -> None:
    """``allowed``: the URLs of ``org.apache.kafka.sasl.oauthbearer.allowed.urls``; empty: all. Raises JwksError."""
    try:
        check_url(url, _WHAT, schemes=("https", "file"), allowed=allowed)
    except UrlError as error:
        raise JwksError(str(error)) from None


def fetch_jwks(url: str, timeout_s: float, context: ssl.SSLContext | None = None) -> bytes:
    """The content behind a URL that `check_jwks_url` accepts. Raises JwksError."""
    check_jwks_url(url)
    try:
        if is_file_url(url):
            return read_file_url(url, _WHAT, MAX_JWKS_BYTES)
        reply = exchange(url, HttpLimits(timeout_s, timeout_s, MAX_JWKS_BYTES), context=context)
    except UrlError as error:
        raise JwksError(str(error)) from None
    except HttpError as error:
        raise JwksError(f"{url}: {error}") from None
    if reply.status != _OK:
        raise JwksError(f"{url}: the server answered with status {reply.status}")
    return reply.body
