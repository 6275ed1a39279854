"""Shows a page in headless Chromium by its DevTools protocol: JSON over two pipes, separated by NUL."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Chromium", "ChromiumIsMissingError", "chromium", "program_of_chromium"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # Chromium refuses to run as root with a sandbox; it shows only our own pages
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--remote-debugging-pipe",
)

_WITH_PIPES = """
import os, sys
from fcntl import F_DUPFD, fcntl
ours = [fcntl(int(each), F_DUPFD, 10) for each in sys.argv[1:3]]
for theirs, each in zip((3, 4), ours):
    os.dup2(each, theirs)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Chromium reads from descriptor 3 and writes to 4."""


class ChromiumIsMissingError(Exception):
    """Chromium can't be started; the message says why."""


class Chromium:
    """A browser with one tab. `problems`: console messages, and every request except for the page itself."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to_browser = to_browser
        self._from_browser = from_browser
        self._unread = b""
        self._last_id = 0
        self._session: str | None = None
        self._page = ""
        self._is_loaded = False
        self.problems: list[str] = []
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")

    def show(self, page: Path, *, width: int, scheme: str) -> None:
        """Loads a file into a window of this size in pixels. `scheme` is light or dark."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=width < 600
        )
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        self._call("Emulation.setEmulatedMedia", features=media)
        self._page = page.resolve().as_uri()
        self._is_loaded = False
        self._call("Page.navigate", url=self._page)
        while not self._is_loaded:
            self._heed(self._next_message())

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression, as JSON."""
        answer = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self) -> bytes:
        """Returns a screenshot of the whole page as PNG."""
        shot = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def _call(self, method: str, **parameters: Any) -> Any:
        self._last_id += 1
        message: dict[str, Any] = {"id": self._last_id, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        unsent = json.dumps(message).encode() + b"\0"
        while unsent:
            unsent = unsent[os.write(self._to_browser, unsent) :]
        while True:
            answer = self._next_message()
            if answer.get("id") == self._last_id:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._heed(answer)

    def _next_message(self) -> Any:
        while b"\0" not in self._unread:
            found = os.read(self._from_browser, 1 << 16)
            if not found:
                raise EOFError("the browser is gone")
            self._unread += found
        message, _, self._unread = self._unread.partition(b"\0")
        return json.loads(message)

    def _heed(self, event: Any) -> None:
        match event.get("method"):
            case "Page.loadEventFired":
                self._is_loaded = True
            case "Network.requestWillBeSent" if event["params"]["request"]["url"] != self._page:
                self.problems.append(f"requested {event['params']['request']['url']}")
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self.problems.append(json.dumps(event["params"]))


def program_of_chromium() -> str:
    """The path of Chromium. Raises ChromiumIsMissingError."""
    program = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if program is None:
        raise ChromiumIsMissingError("no Chromium on PATH (on Debian: apt install chromium)")
    return program


@contextmanager
def chromium(directory: Path) -> Iterator[Chromium]:
    """Yields a browser with a new profile in the directory. Raises ChromiumIsMissingError."""
    program = program_of_chromium()
    commands_out, commands_in = os.pipe()
    events_out, events_in = os.pipe()
    starter = [sys.executable, "-c", _WITH_PIPES, str(commands_out), str(events_in)]
    command = [*starter, program, *_OPTIONS, f"--user-data-dir={directory / 'profile'}", "about:blank"]
    said = directory / "chromium.said"
    with said.open("wb") as output:
        process = subprocess.Popen(command, pass_fds=(commands_out, events_in), stdout=output, stderr=output)
    os.close(commands_out)
    os.close(events_in)
    try:
        try:
            browser = Chromium(commands_in, events_out)
        except (EOFError, BrokenPipeError):
            raise ChromiumIsMissingError(f"{program} does not start: {said.read_text()[-500:]}") from None
        yield browser
    finally:
        process.kill()
        process.wait()
        os.close(commands_in)
        os.close(events_out)
