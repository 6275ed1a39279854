"""Reads schemas from a registry with Confluent's REST API. Each process asks once for each schema id that exists."""

from __future__ import annotations

import json
import math
import ssl
import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlsplit

from ...client.oauth.http_exchange import HttpError, HttpLimits, exchange
from .schema_text import SchemaError, SchemaText

__all__ = ["RegistryError", "SchemaRegistry", "UnknownSchemaError"]

_LIMITS = HttpLimits(connect_s=10, reply_s=30, most_bytes=16 << 20)
_TRIES = 3
_PAUSE_S = 0.5
_MOST_CACHED = 10_000
_MOST_REFERENCES = 1_000
_DEEPEST_REFERENCES = 100
_MISSING_S = 5.0
"""How long a missing schema is not asked for again. Another server of the registry may have it already."""
_NOT_FOUND = 404
_SERVER_FAILED = 500
_AVRO = "AVRO"


class RegistryError(Exception):
    """The registry gave no usable response. The message names its URL, but no secret."""


class UnknownSchemaError(SchemaError):
    """The registry does not have the schema."""


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A registry. `user_info`: `user:password` of HTTP's basic authentication. `ca_file`: certificates to trust instead
    of the system's, a file on every machine that runs tasks.
    """

    url: str
    user_info: str | None = field(default=None, repr=False)
    ca_file: str | None = None

    def __post_init__(self) -> None:
        """Raises SchemaError for a URL that can't be used."""
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise SchemaError("the URL of the schema registry must be like https://registry:8081")
        if parts.username is not None or parts.password is not None:
            raise SchemaError("the URL of the schema registry must not contain a user: give the user separately")

    def schema(self, schema_id: int, kind: str) -> SchemaText:
        """Returns a schema of that kind, AVRO or PROTOBUF. Raises RegistryError, UnknownSchemaError, SchemaError."""
        key = (self, schema_id, kind)
        found, ends_s = _known.get(key, (None, 0.0))
        if found is None or ends_s <= time.monotonic():
            if len(_known) >= _MOST_CACHED:
                _known.clear()
            ends_s = math.inf
            try:
                found = self._text(self._get(f"/schemas/ids/{schema_id}", f"schema {schema_id}"), kind)
            except UnknownSchemaError as error:
                found, ends_s = error, time.monotonic() + _MISSING_S
            except SchemaError as error:
                found = error
            _known[key] = found, ends_s
        if isinstance(found, SchemaError):
            raise found
        return found

    def newest(self, subject: str, kind: str) -> SchemaText:
        """Returns the newest schema of a subject. Raises RegistryError, UnknownSchemaError, SchemaError."""
        path = f"/subjects/{quote(subject, safe='')}/versions/latest"
        return self._text(self._get(path, f"subject {subject}"), kind)

    def _text(self, content: Any, kind: str) -> SchemaText:
        """Collects the references of a schema, each once."""
        given = content.get("schemaType") or _AVRO
        if given != kind:
            raise SchemaError(f"the schema in the registry is of type {given}, not {kind}")
        found: dict[str, str] = {}
        self._collect(content, found)
        return SchemaText(content["schema"], tuple(found.items()))

    def _collect(self, content: Any, found: dict[str, str], inside: tuple[str, ...] = ()) -> None:
        """`inside`: names of the references that lead to this content."""
        for name, subject, version in _references(content):
            if name in inside:
                raise SchemaError(f"the schema's references form a circle through {name}")
            if name in found:
                continue
            if len(found) >= _MOST_REFERENCES:
                raise SchemaError(f"the schema has more than {_MOST_REFERENCES} references")
            if len(inside) >= _DEEPEST_REFERENCES:
                raise SchemaError(f"the schema's references are nested more than {_DEEPEST_REFERENCES} deep")
            path = f"/subjects/{quote(subject, safe='')}/versions/{version}"
            referred = self._get(path, f"version {version} of subject {subject}")
            self._collect(referred, found, (*inside, name))
            found[name] = referred["schema"]

    def _get(self, path: str, what: str) -> Any:
        for attempt in range(1, _TRIES + 1):
            try:
                reply = exchange(self.url.rstrip("/") + path, _LIMITS, headers=self._headers(), context=self._context())
            except (HttpError, OSError) as error:
                failure = str(error)
            else:
                if reply.status == _NOT_FOUND and _names_missing(reply.body):
                    raise UnknownSchemaError(f"the schema registry does not have {what}")
                if reply.status < _SERVER_FAILED:
                    return self._content(reply.status, reply.body, what)
                failure = f"it answered with status {reply.status}"
            if attempt < _TRIES:
                time.sleep(_PAUSE_S * attempt)
        raise RegistryError(f"schema registry {self.url} did not give {what}: {failure}")

    def _content(self, status: int, body: bytes, what: str) -> Any:
        if status != 200:
            why = "are its user and password right?" if status in (401, 403) else "is this the URL of a registry?"
            raise RegistryError(f"schema registry {self.url} answered with status {status} for {what}: {why}")
        content = _loaded(body)
        if not isinstance(content, dict) or not isinstance(content.get("schema"), str):
            raise RegistryError(f"schema registry {self.url} gave no schema for {what}: is this the URL of a registry?")
        return content

    def _headers(self) -> dict[str, str]:
        if self.user_info is None:
            return {}
        return {"Authorization": f"Basic {b64encode(self.user_info.encode()).decode()}"}

    def _context(self) -> ssl.SSLContext | None:
        if self.ca_file is None:
            return None
        try:
            return ssl.create_default_context(cafile=self.ca_file)
        except OSError as error:
            why = error.strerror or "it has no certificates"
            raise RegistryError(f"the certificates for schema registry {self.url} in {self.ca_file}: {why}") from None


def _loaded(body: bytes) -> Any:
    """Returns None for a body that is no JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _names_missing(body: bytes) -> bool:
    """Returns whether a response 404 is of a registry that lacks the schema. For a wrong path there is no such code."""
    content = _loaded(body)
    code = content.get("error_code") if isinstance(content, dict) else None
    return isinstance(code, int) and code // 100 == _NOT_FOUND


def _references(content: Any) -> Iterator[tuple[str, str, int]]:
    """Yields name, subject and version. Raises SchemaError for a reference that lacks one."""
    try:
        for each in content.get("references") or ():
            name, subject = each["name"], each["subject"]
            (name + subject).encode()
            yield name, subject, int(each["version"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise SchemaError("the schema has a reference without a name, a subject or a version number") from None


_known: dict[tuple[SchemaRegistry, int, str], tuple[SchemaText | SchemaError, float]] = {}
"""Responses for schema ids, and until when they count. Ids never change their schema."""
