"""Asks pybrokers' HTTP ports for their documents under /v1.

A port that does not answer, or that belongs to another cluster, is left out for a while: the console then shows what
Kafka's protocol tells. The log says once why a port tells nothing, and when it tells again.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import h11

from .token_file import TokenFile

logger = logging.getLogger(__name__)

MAX_ANSWER_BYTES = 32 << 20
_TIMEOUT_S = 5.0
_AWAY_S = 15.0
_READ_BYTES = 64 << 10
_REFUSALS = {
    401: "it wants a valid token; see --v1-token-file",
    403: "it refuses the console's token",
}


class V1Client:
    """Asks all ports at once; one connection a request. `ca_file`: certificates to trust; None: the system's.

    `cluster_id`: documents of other clusters are left out; None while it is not known.
    """

    def __init__(self, urls: tuple[str, ...], token: TokenFile | None, ca_file: str | None = None) -> None:
        self.cluster_id: str | None = None
        self.wants_cluster_id = bool(urls)
        self._urls = urls
        self._token = token
        is_tls = any(urlsplit(url).scheme == "https" for url in urls)
        self._tls = ssl.create_default_context(cafile=ca_file) if is_tls else None
        self._why_silent: dict[str, str] = {}
        self._away_until_s: dict[str, float] = {}

    def __bool__(self) -> bool:
        return bool(self._urls)

    def set_cluster_id(self, cluster_id: str | None) -> None:
        """Tell which cluster the console shows. Very old brokers of Kafka do not know."""
        self.cluster_id = cluster_id
        self.wants_cluster_id = False

    async def documents(self, path: str, **query: str) -> list[dict[str, Any]]:
        """The documents of all ports that have one at this path."""
        return await self.shrunk(path, query, None)

    async def shrunk(
        self, path: str, query: Mapping[str, str], shrink: Callable[[dict[str, Any]], Any] | None
    ) -> list[dict[str, Any]]:
        """As `documents`. `shrink` replaces each object as it is read, so that what is not needed takes no memory."""
        now_s = time.monotonic()
        urls = [url for url in self._urls if self._away_until_s.get(url, 0.0) <= now_s]
        target = f"{path}?{urlencode(query)}" if query else path
        found = await asyncio.gather(*(self._document(url, target, shrink) for url in urls))
        return [document for document in found if document is not None]

    async def _document(
        self, url: str, target: str, shrink: Callable[[dict[str, Any]], Any] | None
    ) -> dict[str, Any] | None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                token = None if self._token is None else self._token.token()
                status, body = await _get(url, target, token, self._tls)
        except (OSError, TimeoutError, h11.RemoteProtocolError) as error:
            self._leave_out(url, str(error) or f"no answer in {_TIMEOUT_S:.0f} s")
            return None
        if status == 401 and self._token is not None:
            self._token.doubt()
        if status != 200:
            if status in _REFUSALS:
                self._note(url, _REFUSALS[status])
            return None
        try:
            document = await asyncio.to_thread(json.loads, body, object_hook=shrink)
        except (ValueError, RecursionError):
            return None
        return document if isinstance(document, dict) and self._is_ours(url, document) else None

    def _is_ours(self, url: str, document: dict[str, Any]) -> bool:
        """Whether the document is about the cluster that the console shows."""
        source = document.get("source")
        told = source.get("cluster_id") if isinstance(source, dict) else None
        if self.cluster_id is None or told == self.cluster_id:
            self._note(url, "")
            return True
        self.wants_cluster_id = True  # the brokers may have been set up anew, as another cluster
        self._leave_out(url, f"it belongs to another cluster, {str(told)[:40]!r}, and not to {self.cluster_id!r}")
        return False

    def _leave_out(self, url: str, why: str) -> None:
        self._away_until_s[url] = time.monotonic() + _AWAY_S
        self._note(url, why)

    def _note(self, url: str, why_silent: str) -> None:
        """Logs a change. `why_silent`: empty for a port that answers."""
        before = self._why_silent.get(url, "")
        if why_silent and not before:
            logger.warning("%s tells nothing: %s; views lack what only it knows", url, why_silent)
        elif before and not why_silent:
            logger.info("%s tells again", url)
        self._why_silent[url] = why_silent


async def _get(url: str, target: str, token: str | None, tls: ssl.SSLContext | None) -> tuple[int, bytes]:
    parts = urlsplit(url)
    host = parts.hostname or ""
    is_tls = parts.scheme == "https"
    port = parts.port or (443 if is_tls else 80)
    reader, writer = await asyncio.open_connection(host, port, ssl=tls if is_tls else None)
    try:
        headers = [("host", parts.netloc), ("accept", "application/json"), ("connection", "close")]
        if token is not None:
            headers.append(("authorization", f"Bearer {token}"))
        http = h11.Connection(h11.CLIENT)
        writer.write(http.send(h11.Request(method="GET", target=target, headers=headers)) or b"")
        writer.write(http.send(h11.EndOfMessage()) or b"")
        return await _answer(http, reader)
    finally:
        writer.close()


async def _answer(http: h11.Connection, reader: asyncio.StreamReader) -> tuple[int, bytes]:
    status, size, pieces = 0, 0, []
    while True:
        event = http.next_event()
        if event is h11.NEED_DATA:
            http.receive_data(await reader.read(_READ_BYTES))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            size += len(event.data)
            if size > MAX_ANSWER_BYTES:
                raise ConnectionError("the response is too long")
            pieces.append(bytes(event.data))
        elif isinstance(event, h11.EndOfMessage | h11.ConnectionClosed):
            return status, b"".join(pieces)
