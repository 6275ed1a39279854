"""A small console server: the real static files, the real headers, and the answers of a made-up cluster."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from support.console.fake_cluster import FakeCluster
from support.console.fake_records import as_plain_kafka
from support.source_tree import ROOT

STATIC = ROOT / "console" / "static"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)


class PolicyHeaders:
    """Adds the headers that the real console sends with every response."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(b"content-security-policy", POLICY.encode()), (b"cache-control", b"no-store")]
            await send(message)

        await self._app(scope, receive, with_headers)


class AsciiResponse(JSONResponse):
    """JSON with every other character escaped, as the broker sends it: halves of characters get through too."""

    def render(self, content: object) -> bytes:
        return json.dumps(content).encode()


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data)}\n\n"


class FakeConsole:
    """Routes of the console's API. `cluster` can be replaced between two pages."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.cluster = cluster
        self.url = ""

    def application(self) -> Starlette:
        lists: dict[str, Callable[[], Any]] = {
            "session": lambda: self.cluster.session(),
            "cluster": lambda: self.cluster.cluster(),
            "brokers": lambda: self.cluster.brokers(),
            "partitions": lambda: self.cluster.partitions(),
            "groups": lambda: self.cluster.group_list(),
            "clients": lambda: self.cluster.clients(),
            "requests/slow": lambda: self.cluster.slow_requests(),
            "configs": lambda: self.cluster.configs(),
        }
        details: dict[str, Callable[[dict[str, str]], Any]] = {
            "brokers/{id}": lambda at: self.cluster.broker(int(at["id"])),
            "configs/brokers/{id}": lambda at: self.cluster.configs(),
            "topics/{topic}": lambda at: self.cluster.topic(at["topic"]),
            "topics/{topic}/records": lambda at: self.cluster.records(at["topic"]),
            "topics/{topic}/partitions/{p}/records/{offset}": lambda at: self.cluster.record_detail(
                at["topic"], int(at["p"]), int(at["offset"])
            ),
            "groups/{group:path}/timeline": lambda at: self.cluster.timeline(at["group"]),
            "groups/{group:path}": lambda at: self.cluster.group(at["group"]),
        }
        routes = [
            *(Route(f"/api/{path}", self._list(get)) for path, get in lists.items()),
            Route("/api/topics", self._topics),
            Route("/api/filter", self._filter),
            Route("/api/explain/acl", self._explain),
            Route("/api/topics/{topic}/search", self._search),
            Route("/api/topics/{topic}/tail", self._tail),
            *(Route(f"/api/{path}", self._answer(get)) for path, get in details.items()),
            Mount("/static", StaticFiles(directory=STATIC)),
            Route("/{path:path}", lambda _: FileResponse(STATIC / "index.html")),
        ]
        return Starlette(routes=routes, middleware=[Middleware(PolicyHeaders)])

    def _list(self, get: Callable[[], Any]) -> Callable[[Request], Response]:
        return self._answer(lambda _: get())

    def _answer(self, get: Callable[[dict[str, str]], Any]) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            try:
                view = get(request.path_params)
            except ValueError:
                return JSONResponse({"error": "There is no such thing.", "code": None}, 404)
            return AsciiResponse(as_plain_kafka(view) if self.cluster.is_plain_kafka else view)

        return answer

    def _topics(self, request: Request) -> Response:
        view = self.cluster.topic_list()
        items = sorted(view["items"], key=lambda row: row["topic"])[: int(request.query_params.get("limit", 10_000))]
        return self._answer(lambda _: {**view, "items": items})(request)

    def _filter(self, request: Request) -> Response:
        query = request.query_params["query"]
        if query.count("(") != query.count(")"):
            return JSONResponse({"valid": False, "error": "a parenthesis is open", "at": query.index("(")})
        return JSONResponse({"valid": True, "meaning": f"the record holds {query}"})

    def _explain(self, request: Request) -> Response:
        return JSONResponse({"allowed": False, "text": f"No ACL allows {request.query_params['principal']} this."})

    def _search(self, request: Request) -> Response:
        async def events() -> AsyncIterator[str]:
            progress = {"searched": 3_100_000, "total": 8_000_000, "bytes": 1_200_000_000, "hits": 3, "seconds": 1.2}
            for number in range(3):
                yield _event("hit", self.cluster.record(request.path_params["topic"], number, 480_000 + 10 * number))
            yield _event("progress", progress)
            yield _event("done", {**progress, "reason": "time", "resume": "at:0=3100000"})

        return StreamingResponse(events(), media_type="text/event-stream")

    def _tail(self, request: Request) -> Response:
        async def events() -> AsyncIterator[str]:
            for number in range(10_000):
                records = [self.cluster.record(request.path_params["topic"], 0, 600_000 + number)]
                yield _event("records", {"records": records, "skipped": 0, "matched": number + 1, "seen": number + 1})
                await asyncio.sleep(0.05)

        return StreamingResponse(events(), media_type="text/event-stream")


@contextmanager
def serving(console: FakeConsole) -> Iterator[FakeConsole]:
    """Serves the console on a free port of the loopback interface."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(console.application(), log_level="error", lifespan="off", timeout_graceful_shutdown=1)
        server = uvicorn.Server(config)
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        console.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        try:
            yield console
        finally:
            server.should_exit = True
            thread.join()
