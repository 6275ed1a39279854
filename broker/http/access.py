"""The rules about readers of the HTTP endpoint: tokens, and the host names that a browser may use on this machine."""

import hashlib
import hmac
import ipaddress
from collections.abc import Collection

from .http_error import HttpError
from .request import HttpRequest

__all__ = ["check_host", "digest_of", "require_token"]

_SCHEME = "bearer "
_UNAUTHORIZED = (("WWW-Authenticate", 'Bearer realm="pybroker"'),)


def require_token(request: HttpRequest, digests: Collection[bytes]) -> None:
    """Raises HttpError 401 unless the request has a valid token. ``digests``: of the valid ones (`digest_of`).

    The time that this takes does not depend on how much of the token is right.
    """
    given = request.headers.get("authorization", "")
    if not given:
        raise HttpError(401, "a token is needed: Authorization: Bearer TOKEN", _UNAUTHORIZED)
    digest = digest_of(given[len(_SCHEME) :].strip().encode("latin-1"))
    matches = [hmac.compare_digest(digest, each) for each in digests]
    if given[: len(_SCHEME)].lower() != _SCHEME or not any(matches):
        raise HttpError(401, "the token is not valid", _UNAUTHORIZED)


def digest_of(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()


def check_host(request: HttpRequest, local_host: str) -> None:
    """Raises HttpError 421 when a browser was led to this machine by a name that is not this machine's.

    A web page whose name resolves to 127.0.0.1 could otherwise read the endpoint (DNS rebinding). Such a page needs a
    name, so every address is allowed. ``local_host``: the address at which the client reached the broker.
    """
    host = request.headers.get("host")
    if not host or not _is_loopback(local_host):
        return
    name = _without_port(host).rstrip(".").lower()
    if name != "localhost" and not name.endswith(".localhost") and not _is_address(name):
        raise HttpError(421, "use localhost or an address in place of this host name")


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.rpartition(":")[0] if host.count(":") == 1 else host


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_loopback(address: str) -> bool:
    return _is_address(address) and ipaddress.ip_address(address).is_loopback
