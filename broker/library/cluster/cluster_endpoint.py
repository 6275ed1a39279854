"""The test kit of a whole cluster over HTTP, for tests in any language: one address that outlives every broker.

POST /v1/test/faults              set a fault on all brokers, or on one: ``{"api": "Fetch", "hang": true, "broker": 2}``
GET, DELETE /v1/test/faults       all faults
GET, DELETE /v1/test/faults/ID    one fault; with ``?fired=2`` GET waits until it has fired so often
POST /v1/test/acts/NAME           an act of `ClusterWords`: ``kill {"broker": 2}``, ``cut {"one": 1, "other": 2}``
POST /v1/test/reset               remove all faults, heal all cuts and disks, let paused brokers go on
GET /v1/openapi.json              these paths
"""

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

from ....replication.run_in_pool import RunInPool
from ....storage.workers.worker_pool import WorkerPool
from ....views.kit_paths import ActShape, cluster_document
from ...faults.fault_setter import FaultSetter, SetFault
from ...faults.words import unknown_word
from ...http.http_error import HttpError
from ...http.request import HttpRequest
from ...http.response import HttpResponse
from ...http.router import Router
from ...http.server import HttpServer
from ...network.bound_sockets import BindError
from ...network.settings import Endpoint
from ...start_error import StartError
from ...test_kit.fault_words import fault_view, set_fault
from ...test_kit.kit_requests import (
    arguments,
    body_of,
    check_query,
    check_writer,
    fault_of,
    refusals_as_http,
    shape_of,
    wish_of,
)
from ..loop_thread import LoopThread
from .blocking_cluster import BlockingCluster
from .cluster_words import ClusterWords
from .ports import HOST

__all__ = ["ClusterEndpoint"]

_PATIENCE_S = 30.0
_MOST_WAITING = 16
_CREATED = 201
Result = TypeVar("Result")


class ClusterEndpoint:
    """Serves from the beginning of a ``with`` to its end, on a thread of its own. ``port``: 0 for any free one."""

    def __init__(self, cluster: BlockingCluster, port: int = 0) -> None:
        self._cluster = cluster
        self._port = port
        self._thread: LoopThread | None = None
        self._server: HttpServer | None = None
        self._pool: WorkerPool | None = None
        self._paths: _Paths | None = None

    @property
    def url(self) -> str:
        """Without a slash at its end."""
        return f"http://{HOST}:{self._port}"

    def __enter__(self) -> Self:
        """Raises StartError when the port is taken."""
        self._thread = thread = LoopThread("pybroker-cluster-kit")
        try:
            thread.call(self._open())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    async def _open(self) -> None:
        router = Router()
        self._paths = paths = _Paths(self._cluster)
        router.get("/v1/openapi.json", paths.document)
        router.get("/v1/test/faults", paths.list_faults)
        router.write("POST", "/v1/test/faults", paths.set_fault)
        router.write("DELETE", "/v1/test/faults", paths.remove_all)
        router.get("/v1/test/faults/{id}", paths.show_fault)
        router.write("DELETE", "/v1/test/faults/{id}", paths.remove_fault)
        router.write("POST", "/v1/test/acts/{name}", paths.act)
        router.write("POST", "/v1/test/reset", paths.reset)
        self._pool = pool = WorkerPool(asyncio.get_running_loop(), 1, "pybroker-cluster-kit")
        self._server = server = HttpServer(router, RunInPool(pool), lambda: False, _PATIENCE_S)
        try:
            (opened,) = await server.open([Endpoint("HTTP", HOST, self._port)])
        except BindError as error:
            raise StartError(f"the test kit of the cluster cannot be served: {error}") from error
        self._port = opened.port

    def _end(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.call(self._close())
            thread.close()

    async def _close(self) -> None:
        if self._server is not None:
            self._server.kill()
            await self._server.gone()
        if self._pool is not None:
            self._pool.kill()
        if self._paths is not None:
            self._paths.threads.shutdown(wait=False, cancel_futures=True)


class _Paths:
    """The handlers. Blocking work runs on a thread; refusals are one plain line."""

    def __init__(self, cluster: BlockingCluster) -> None:
        self._cluster = cluster
        self._words = ClusterWords(cluster)
        self._acts = self._words.acts()
        self.threads = ThreadPoolExecutor(_MOST_WAITING, "pybroker-cluster-kit")

    def document(self, request: HttpRequest) -> HttpResponse:
        check_query(request)
        shapes = {name: ActShape(act.__doc__ or "", *shape_of(act)) for name, act in self._acts.items()}
        return HttpResponse.json(cluster_document(shapes))

    async def list_faults(self, request: HttpRequest) -> HttpResponse:
        check_query(request)
        return await self._json(lambda: {"faults": [_view(fault) for fault in self._cluster.faults.all()]})

    async def set_fault(self, request: HttpRequest) -> HttpResponse:
        words = dict(body_of(request))
        broker = words.pop("broker", None)
        ids = self._cluster.broker_ids
        if broker is not None and (isinstance(broker, bool) or broker not in ids):
            raise HttpError(400, f"the cluster has no broker {json.dumps(broker):.100}; it has {ids}")
        faults: FaultSetter[Any] = self._cluster.faults if broker is None else self._cluster.faults.on(broker)
        return await self._json(lambda: _view(set_fault(faults, words)), _CREATED)

    async def remove_all(self, request: HttpRequest) -> HttpResponse:
        check_writer(request)

        def removed() -> dict[str, Any]:
            count = len(self._cluster.faults.all())
            self._cluster.faults.clear()
            return {"removed": count}

        return await self._json(removed)

    async def show_fault(self, request: HttpRequest) -> HttpResponse:
        check_query(request, "fired", "timeout_ms")
        fault, wish = fault_of(self._cluster.faults.all(), request), wish_of(request)
        if wish is not None:
            await self._done(lambda: fault.wait_fired(*wish))
        return await self._json(lambda: _view(fault))

    async def remove_fault(self, request: HttpRequest) -> HttpResponse:
        check_writer(request)
        fault = fault_of(self._cluster.faults.all(), request)
        await self._done(fault.remove)
        return await self._json(lambda: _view(fault))

    async def act(self, request: HttpRequest) -> HttpResponse:
        name, body = request.params["name"], body_of(request)
        act = self._acts.get(name)
        if act is None:
            raise HttpError(404, unknown_word("act", name, self._acts))
        return await self._json(lambda: {"act": name, "result": act(**arguments(act, body))})

    async def reset(self, request: HttpRequest) -> HttpResponse:
        if body_of(request):
            raise HttpError(400, "reset takes nothing")
        await self._done(self._words.reset_all)
        return HttpResponse.json({"reset": True})

    async def _json(self, work: Callable[[], dict[str, Any]], status: int = 200) -> HttpResponse:
        return HttpResponse.json(await self._done(work), status)

    async def _done(self, work: Callable[[], Result]) -> Result:
        with refusals_as_http():
            try:
                return await asyncio.get_running_loop().run_in_executor(self.threads, work)
            except StartError as error:
                raise HttpError(503, str(error)) from error
            except RuntimeError as error:  # the broker is not in a state for it
                raise HttpError(409, str(error)) from error


def _view(fault: SetFault) -> dict[str, Any]:
    view = fault_view(fault)
    broker = getattr(fault, "broker", None)
    return view if broker is None else {**view, "broker": broker}
