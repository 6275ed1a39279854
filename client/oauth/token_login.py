"""A client's login by OAUTHBEARER: a token from an endpoint or a file, shared by the connections of a process."""

from __future__ import annotations

import threading
from dataclasses import field

from ...base.frozen import frozen
from ...protocol.client.sasl import BearerToken
from ..tls_settings import TlsSettings
from .http_exchange import HttpLimits
from .own_token import ClaimNames, OwnToken
from .provider_url import is_file_url
from .token_source import MAX_TOKEN_RESPONSE_BYTES, FileToken, TokenEndpoint

__all__ = ["TokenLogin"]

_USED_SHARE = 0.8
"""After this share of a token's lifetime the next connection gets a new token (`sasl.login.refresh.window.factor`)."""
_MOST_KEPT = 100

_lock = threading.Lock()
_kept: dict[TokenLogin, OwnToken] = {}


@frozen
class TokenLogin:
    """Where tokens come from. `url` is an endpoint for the client credentials grant, or a file."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str
    names: ClaimNames
    extensions: tuple[tuple[str, str], ...] = field(repr=False)
    tls: TlsSettings
    connect_timeout_ms: int
    read_timeout_ms: int

    def bearer(self, now_ms: int) -> BearerToken:
        """The token of this login; a new one when most of the lifetime of the last one is over. `now_ms`: wall clock.

        Blocks. Raises TokenError.
        """
        with _lock:
            token = _kept.get(self)
        if token is None or now_ms >= _renewal_ms(token, now_ms):
            token = self._fetch()
            with _lock:
                if len(_kept) >= _MOST_KEPT:
                    _kept.clear()
                _kept[self] = token
        return token.bearer

    def _fetch(self) -> OwnToken:
        if is_file_url(self.url):
            return FileToken(self.url, self.names, self.extensions).fetch()
        limits = HttpLimits(self.connect_timeout_ms / 1000, self.read_timeout_ms / 1000, MAX_TOKEN_RESPONSE_BYTES)
        return TokenEndpoint(
            self.url,
            self.client_id,
            self.client_secret,
            self.scope,
            limits,
            self.names,
            self.extensions,
            self.tls.context(),
        ).fetch()


def _renewal_ms(token: OwnToken, now_ms: int) -> float:
    begins_ms = now_ms if token.begins_at_ms is None else token.begins_at_ms
    return begins_ms + _USED_SHARE * (token.expires_at_ms - begins_ms)
