"""Reads documents under /v1 from the HTTP ports of pybrokers: what only the broker itself knows.

A document is there at one of the brokers, such as a group at its coordinator, so all addresses that were given are
tried.
"""

import argparse
import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ..exit_codes import FAILED, NOT_ALLOWED, NOT_THERE

__all__ = ["V1Reader", "add_v1_options", "v1_reader"]

_MAX_ANSWER_BYTES = 32 << 20
_MAX_TOKEN_BYTES = 64 << 10


def add_v1_options(parser: CommandParser) -> None:
    """Add the options to the parser of a verb."""
    add = parser.add_argument_group("what only a pybroker itself knows").add_argument
    add(
        "--v1",
        metavar="URL",
        action="append",
        default=[],
        help="HTTP address of a pybroker, such as http://127.0.0.1:8092; give one for each broker",
    )
    add("--v1-token-file", metavar="FILE", type=Path, help="file with the token of pybroker.http.token.file")
    add("--v1-ca-file", metavar="FILE", type=Path, help="certificates that sign those of the HTTP ports")


def v1_reader(options: argparse.Namespace) -> "V1Reader | None":
    """The reader that the options ask for; None without ``--v1``. Raises CommandError."""
    if not options.v1:
        return None
    for url in options.v1:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise CommandError(f"--v1 {url}: must be http://HOST:PORT or https://HOST:PORT", BAD_INPUT)
    return V1Reader(tuple(options.v1), _token(options.v1_token_file), options.v1_ca_file, options.timeout)


def _token(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        with file.open("rb") as opened:
            lines = opened.read(_MAX_TOKEN_BYTES).decode("ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--v1-token-file {file} cannot be read: {error}", BAD_INPUT) from None
    if not lines:
        raise CommandError(f"--v1-token-file {file} is empty", BAD_INPUT)
    return lines[0]


class V1Reader:
    """``token``: None for ports without one. ``ca_file``: None for the certificates that this machine trusts."""

    def __init__(self, urls: tuple[str, ...], token: str | None, ca_file: Path | None, timeout_s: float) -> None:
        self._urls = urls
        self._token = token
        self._ca_file = ca_file
        self._timeout_s = timeout_s

    def document(self, *path: str) -> dict[str, Any]:
        """The document at ``/v1/…`` of the first broker that has it. Raises CommandError when none has."""
        refusal: CommandError | None = None
        for url in self._urls:
            try:
                return self._ask(url, "/v1/" + _path(path))
            except CommandError as error:
                if error.exit_code == NOT_THERE:  # by the broker that would have it; others name that broker
                    raise
                refusal = error
        assert refusal is not None
        raise refusal

    def of_all(self, path: str, problems: list[str]) -> list[dict[str, Any]]:
        """The documents at ``/v1/path`` of all brokers. ``problems`` gets a line for each broker that gives none.

        Raises CommandError when none does.
        """
        found: list[dict[str, Any]] = []
        refusal = None
        for url in self._urls:
            try:
                found.append(self._ask(url, f"/v1/{path}"))
            except CommandError as error:
                refusal = error
                problems.append(str(error))
        if not found and refusal is not None:
            raise refusal
        return found

    def documents(self, *path: str, query: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
        """The document at ``/v1/…`` of each broker that gives one."""
        try:
            return self.of_all(_path(path) + ("" if query is None else f"?{urlencode(query)}"), [])
        except CommandError:
            return []

    def each_address(self) -> "list[V1Reader]":
        """A reader for each address."""
        return [V1Reader((url,), self._token, self._ca_file, self._timeout_s) for url in self._urls]

    def _ask(self, url: str, path: str) -> dict[str, Any]:
        from http.client import HTTPConnection, HTTPException, HTTPSConnection  # a fifth of the start of a command

        parts = urlsplit(url)
        headers = {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        try:
            connection = (
                HTTPConnection(parts.hostname or "", parts.port, timeout=self._timeout_s)
                if parts.scheme == "http"
                else HTTPSConnection(
                    parts.hostname or "",
                    parts.port,
                    timeout=self._timeout_s,
                    context=ssl.create_default_context(cafile=self._ca_file),
                )
            )
            try:
                connection.request("GET", parts.path.rstrip("/") + path, headers=headers)
                answer = connection.getresponse()
                body = answer.read(_MAX_ANSWER_BYTES + 1)
            finally:
                connection.close()
        except (OSError, ValueError, HTTPException) as error:
            raise CommandError(f"--v1 {url}: no response: {error}", FAILED) from None
        if len(body) > _MAX_ANSWER_BYTES:
            raise CommandError(f"--v1 {url}: the response is too large", FAILED)
        return _document(url, answer.status, body)


def _path(parts: tuple[str, ...]) -> str:
    return "/".join(quote(part, safe="") for part in parts)


def _document(url: str, status: int, body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise CommandError(f"--v1 {url}: this is no pybroker: status {status} without a JSON object", FAILED)
    if status == 200:
        return document
    code = {401: NOT_ALLOWED, 403: NOT_ALLOWED, 404: NOT_THERE}.get(status, FAILED)
    raise CommandError(f"--v1 {url}: {document.get('error', f'status {status}')}", code)
