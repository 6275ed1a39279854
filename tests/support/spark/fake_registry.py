"""A schema registry in memory that speaks the part of Confluent's REST API that decoders use."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote

__all__ = ["FakeRegistry", "fake_registry"]


class FakeRegistry:
    """The schemas, and the paths that were asked for. `broken`: responses with status 503 to give first."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.broken = 0
        self.user_info: str | None = None
        self.url = ""
        self._schemas: list[tuple[str, dict[str, Any]]] = []

    def register(
        self, subject: str, text: str, kind: str = "AVRO", references: list[dict[str, Any]] | None = None
    ) -> int:
        """Adds a version to a subject; returns the schema's id."""
        content = {"schema": text, "references": references or []}
        self._schemas.append((subject, content if kind == "AVRO" else {**content, "schemaType": kind}))
        return len(self._schemas)

    def answer(self, path: str, authorization: str | None) -> tuple[int, Any]:
        """Returns the status and the content of a response."""
        self.asked.append(path)
        if self.broken:
            self.broken -= 1
            return 503, {}
        if self.user_info is not None and authorization != f"Basic {b64encode(self.user_info.encode()).decode()}":
            return 401, {"message": "no"}
        match path.strip("/").split("/"):
            case ["schemas", "ids", number] if 0 < int(number) <= len(self._schemas):
                return 200, self._schemas[int(number) - 1][1]
            case ["subjects", subject, "versions", version]:
                found = [content for of, content in self._schemas if of == unquote(subject)]
                if found and (version == "latest" or 0 < int(version) <= len(found)):
                    return 200, found[-1 if version == "latest" else int(version) - 1]
                return 404, {"error_code": 40402}
            case ["schemas", "ids", _]:
                return 404, {"error_code": 40403}
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}


@contextmanager
def fake_registry() -> Iterator[FakeRegistry]:
    """Serves an empty registry at its `url`."""
    registry = FakeRegistry()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = registry.answer(self.path, self.headers.get("Authorization"))
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Logs nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        registry.url = f"http://127.0.0.1:{server.server_port}"
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield registry
        finally:
            server.shutdown()
            thread.join()
