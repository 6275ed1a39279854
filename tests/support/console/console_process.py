"""A real console process, started as a user starts it, and a plain HTTP client for it."""

import http.client
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

READY = re.compile(r"the console is ready: open https?://\S+?:(?P<port>\d+)\b")


class Reply(NamedTuple):
    """A response that was read whole."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Event(NamedTuple):
    """A server-sent event."""

    name: str
    data: Any


class ConsoleProcess:
    """`pybroker console` on a free port of 127.0.0.1."""

    def __init__(self, bootstrap: str, *arguments: str) -> None:
        self._command = [
            *(sys.executable, "-m", "pybroker", "console", "-b", bootstrap),
            *("--http", "127.0.0.1:0", "--ends-with-stdin", *arguments),
        ]
        self.port = 0
        self.lines: list[str] = []
        self.cookie: str | None = None

    def __enter__(self) -> "ConsoleProcess":
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line)
            if found := READY.search(line):
                self.port = int(found["port"])
                break
        assert self.port, "".join(self.lines)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> int:
        """Close the standard input, as the end of a parent does; returns the exit code."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = self._process.wait(30)
        self._reader.join(30)
        assert self._process.stderr is not None
        self._process.stderr.close()
        return code

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line)

    def ask(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        """The response to one request, by default as the console's own page sends it."""
        sent = {"X-Pybroker-Console": "1", **(headers or {})}
        if self.cookie is not None:
            sent["Cookie"] = self.cookie
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            reply = Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply

    def get(self, path: str) -> Any:
        """The JSON of a response with status 200."""
        reply = self.ask("GET", path)
        assert reply.status == 200, (path, reply)
        return reply.json()

    @contextmanager
    def events(self, path: str) -> Iterator[Iterator[Event]]:
        """The events of a stream, until the block ends."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path, headers={"Cookie": self.cookie} if self.cookie else {})
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
            yield _events(answer)
        finally:
            connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[Event]:
    name = ""
    while line := answer.readline():
        field, _, rest = line.decode().rstrip("\n").partition(": ")
        if field == "event":
            name = rest
        elif field == "data":
            yield Event(name, json.loads(rest))
