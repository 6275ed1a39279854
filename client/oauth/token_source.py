"""Gets the token of this broker's own logins from an OAuth provider, or from a file. The calls block.

**How.** The client credentials grant (RFC 6749, 4.4), as Kafka's ``HttpAccessTokenRetriever`` asks for it. Errors show
neither the secret nor any part of the response but an error code of the RFC.
"""

import json
import ssl
from base64 import b64encode
from dataclasses import field
from urllib.parse import quote_plus, urlsplit

from ...base.frozen import frozen
from .http_exchange import HttpError, HttpLimits, HttpReply, exchange
from .own_token import ClaimNames, OwnToken, own_token
from .provider_url import UrlError, read_file_url
from .token_text import InvalidTokenError

__all__ = ["MAX_TOKEN_RESPONSE_BYTES", "FileToken", "TokenEndpoint", "TokenError"]

MAX_TOKEN_RESPONSE_BYTES = 256 * 1024
"""The longest response with a token that is read."""
_WHAT = "the token"
_GOOD = (200, 201)
_FINAL = frozenset({400, 401, 402, 403, 404, 405, 406, 407, 409, 410, 411, 412, 413, 414, 415, 501, 505})
"""Kafka takes other statuses for a passing trouble and tries again."""
_ERROR_CODES = (
    "invalid_client",
    "invalid_grant",
    "invalid_request",
    "invalid_scope",
    "unauthorized_client",
    "unsupported_grant_type",
)


class TokenError(Exception):
    """There is no token. The message is one line for the log. ``is_final``: another try soon would fail too."""

    def __init__(self, reason: str, *, is_final: bool = False) -> None:
        super().__init__(reason)
        self.is_final = is_final


@frozen
class TokenEndpoint:
    """``context``: for https; None: the system's authorities are trusted."""

    url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str
    limits: HttpLimits
    names: ClaimNames
    extensions: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    context: ssl.SSLContext | None = None

    def fetch(self) -> OwnToken:
        """Raises TokenError."""
        place = urlsplit(self.url)._replace(query="", fragment="").geturl()
        try:
            reply = exchange(self.url, self.limits, form=self._form(), headers=self._headers(), context=self.context)
            return own_token(_access_token(reply), self.names, self.extensions)
        except (HttpError, InvalidTokenError) as error:
            raise TokenError(f"{place}: {error}") from None
        except TokenError as error:
            raise TokenError(f"{place}: {error}", is_final=error.is_final) from None

    def _form(self) -> bytes:
        scope = f"&scope={quote_plus(self.scope)}" if self.scope else ""
        return f"grant_type=client_credentials{scope}".encode()

    def _headers(self) -> dict[str, str]:
        credentials = f"{self.client_id}:{self.client_secret}".encode()
        return {"Authorization": f"Basic {b64encode(credentials).decode()}"}


@frozen
class FileToken:
    """``url``: of a file with a token and nothing else. The file is read for each renewal; Kafka reads it once."""

    url: str
    names: ClaimNames
    extensions: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def fetch(self) -> OwnToken:
        """Raises TokenError."""
        try:
            content = read_file_url(self.url, _WHAT, MAX_TOKEN_RESPONSE_BYTES)
            return own_token(content.decode("latin-1").strip(), self.names, self.extensions)
        except UrlError as error:
            raise TokenError(str(error)) from None
        except InvalidTokenError as error:
            raise TokenError(f"{self.url}: {error}") from None


def _access_token(reply: HttpReply) -> str:
    """The text of the token in a response. Raises TokenError."""
    content = _json_in(reply.body)
    if reply.status not in _GOOD:
        code = content.get("error")
        told = f" ({code})" if code in _ERROR_CODES else ""
        raise TokenError(f"the server answered with status {reply.status}{told}", is_final=reply.status in _FINAL)
    token = content.get("access_token")
    if not isinstance(token, str) or not token.strip():
        raise TokenError("the response has no access_token")
    return token.strip()


def _json_in(body: bytes) -> dict[str, object]:
    """Empty for anything but a JSON object."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}
