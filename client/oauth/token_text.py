"""Reads the parts of a JSON Web Token: JSON objects, times and texts. No signature is checked here."""

import json
import re
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping

__all__ = ["InvalidTokenError", "check_scopes", "decoded_part", "json_object", "object_in_token", "seconds_in",
           "text_in"]  # fmt: skip

_PART = re.compile(r"[A-Za-z0-9_-]+={0,2}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_SECONDS = 2**43
"""A later time would not be a date that a clock can show."""


class InvalidTokenError(Exception):
    """A token is refused. The message is for the log and contains no part of the token.

    ``scope``: the scope that the token lacks; None: the token is invalid.
    """

    def __init__(self, reason: str, scope: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.scope = scope

    @property
    def status(self) -> str:
        """The JSON object for the client."""
        if self.scope is None:
            return '{"status":"invalid_token"}'
        return f'{{"status":"insufficient_scope", "scope":{json.dumps(self.scope)}}}'


def json_object(data: bytes, what: str) -> dict[str, object]:
    """A JSON object without duplicate names. Raises InvalidTokenError."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a name is there twice")
        return found

    def refused(constant: str) -> object:
        raise ValueError(f"{constant} is no JSON")

    try:
        value = json.loads(data, object_pairs_hook=unique, parse_constant=refused)
    except (ValueError, RecursionError):
        raise InvalidTokenError(f"the {what} is not JSON") from None
    if not isinstance(value, dict):
        raise InvalidTokenError(f"the {what} is no JSON object")
    return value


def object_in_token(part: str, what: str) -> dict[str, object]:
    """The JSON object in one part of a token. Raises InvalidTokenError."""
    try:
        data = b64decode(part.translate(str.maketrans("-_", "+/")) + "=" * (-len(part) % 4), validate=True)
    except ValueError:
        raise InvalidTokenError(f"the {what} of the token is not base64") from None
    return json_object(data, what)


def decoded_part(part: str, what: str) -> bytes:
    """The bytes of one part of a signed token. Only one text is right for them. Raises InvalidTokenError."""
    text = part.rstrip("=")
    if _PART.fullmatch(part) and (part == text or len(part) % 4 == 0):
        try:
            data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        except ValueError:
            data = b""
        if urlsafe_b64encode(data).decode().rstrip("=") == text:
            return data
    raise InvalidTokenError(f"the {what} of the token is not base64")


def seconds_in(claims: Mapping[str, object], name: str) -> int | None:
    """A time in whole seconds since 1970. Raises InvalidTokenError for anything else than a number from 0."""
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < _MAX_SECONDS:
        raise InvalidTokenError(f"claim {name} of the token is no time")
    return int(value)


def text_in(claims: Mapping[str, object], name: str) -> str | None:
    """Raises InvalidTokenError for a claim that is no text, or that no response could contain."""
    value = claims.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or _SURROGATE.search(value):
        raise InvalidTokenError(f"claim {name} of the token is no text")
    return value


def check_scopes(value: object, name: str) -> None:
    """Scopes have no effect here, but Kafka refuses empty and duplicate ones."""
    scopes: Iterable[object] = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    seen = [scope.strip() if isinstance(scope, str) else "" for scope in scopes]
    if "" in seen or len(set(seen)) != len(seen):
        raise InvalidTokenError(f"claim {name} of the token has an empty or duplicate scope")
