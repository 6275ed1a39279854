"""The console as an ASGI application: its paths, its static files, its guards."""

from __future__ import annotations

import logging
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from .cluster_views.view_paths import view_paths
from .console import Console
from .http.guards import Guards
from .http.replies import HttpProblem, error_reply
from .records.record_paths import record_paths
from .session_paths import session_paths
from .writes.write_paths import write_paths

logger = logging.getLogger(__name__)

STATIC = Path(__file__).resolve().parent / "static"


def make_app(console: Console, hosts: frozenset[str]) -> ASGIApp:
    """Returns the application for browsers that reach it by one of `hosts`."""
    app = Starlette(
        routes=[
            *session_paths(console),
            *view_paths(console),
            *record_paths(console),
            *write_paths(console),
            Mount("/static", StaticFiles(directory=STATIC, check_dir=False)),
            Route("/api/{path:path}", _no_such_path, methods=["GET", "POST", "DELETE", "PUT", "PATCH"]),
            Route("/{path:path}", _page, methods=["GET"]),
        ],
        exception_handlers={Exception: _failed},
    )
    return Guards(app, hosts)


async def _page(request: Request) -> Response:
    """The one page; its program shows what the path names."""
    return FileResponse(STATIC / "index.html", media_type="text/html; charset=utf-8")


async def _no_such_path(request: Request) -> Response:
    return error_reply(HttpProblem(404, "there is no such path"))


async def _failed(request: Request, error: Exception) -> Response:
    logger.error("the console failed at %s", request.url.path, exc_info=error)
    return error_reply(HttpProblem(500, "the console failed; its log says why"))
