"""A Chromium driven by Playwright, for tests of the console's pages."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.processes.chromium import ChromiumIsMissingError, program_of_chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

SCREENSHOTS = os.environ.get("PYBROKER_SCREENSHOTS")
"""The folder where tests leave screenshots; without it they make none."""

_OPTIONS = (
    "--headless",
    "--no-sandbox",  # Chromium refuses to run as root with a sandbox; it shows only our own pages
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_GO = "path => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }"
_WATCH_VIOLATIONS = """
window.violations = [];
addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
});
"""


def program() -> str:
    """The path of Chromium. Skips the test when the program or Playwright is missing."""
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("needs playwright (pip install playwright)")
    try:
        return program_of_chromium()
    except ChromiumIsMissingError as error:
        pytest.skip(str(error))


@contextmanager
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    path = program()
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(_OPTIONS))
        try:
            yield started
        finally:
            started.close()


class WatchedPage:
    """A page that notes everything a page of the console must never do: see `problems`."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self._problems: list[str] = []
        page.add_init_script(_WATCH_VIOLATIONS)
        page.set_default_timeout(20_000)
        page.on("dialog", self._dialog)
        page.on("pageerror", lambda error: self._problems.append(f"error: {error}"))
        page.on("console", self._message)
        page.on("request", self._request)
        page.on("popup", lambda popup: self._problems.append(f"popup: {popup.url}"))

    def show(self, path: str, ready: str) -> None:
        """Opens a path and waits until an element is visible."""
        self.page.goto(self.url + path)
        self.page.locator(ready).first.wait_for()

    def go(self, path: str, ready: str) -> None:
        """Moves to a path as a click on a link does, without loading the console anew."""
        self.page.evaluate(_GO, path)
        self.page.locator(ready).first.wait_for()

    def look(self, width: int, scheme: str) -> None:
        """Changes the width of the window and the theme; returns when the page is drawn anew."""
        self.page.set_viewport_size({"width": width, "height": 900})
        self.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        self.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def problems(self) -> list[str]:
        """Dialogs, errors, requests to other places, and violations of the content security policy."""
        return self._problems + [f"policy: {each}" for each in self.page.evaluate("window.violations ?? []")]

    def forget_problems(self) -> None:
        self._problems.clear()

    def screenshot(self, name: str, *, full: bool = True) -> None:
        if SCREENSHOTS is not None:
            self.page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png", full_page=full)

    def _dialog(self, dialog: Any) -> None:
        self._problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _message(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._problems.append(f"console: {message.text}")

    def _request(self, request: Any) -> None:
        if not request.url.startswith(f"{self.url}/"):
            self._problems.append(f"request: {request.url}")


@contextmanager
def watched_page(browser: Browser, url: str, *, width: int = 1400, scheme: str = "light") -> Iterator[WatchedPage]:
    """Yields a page in a new context: no cookies and no cache of other tests."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
        reduced_motion="reduce",
        timezone_id="UTC",
    )
    try:
        yield WatchedPage(context.new_page(), url)
    finally:
        context.close()
