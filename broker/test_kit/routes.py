"""The paths of the test kit under /v1/test, on the HTTP endpoint of a broker.

POST /v1/test/faults              set a fault (`fault_words.py`); the response has its id
GET, DELETE /v1/test/faults[/ID]  all faults, or one; with ``?fired=2`` GET waits until it has fired so often
POST /v1/test/acts/NAME           an act (`acts.py`), stop or kill, with its arguments as JSON
POST /v1/test/steps/NAME          a step of an act (`act_steps.py`), which a cluster asks its brokers for
POST /v1/test/clock               move the clock (`http_act.py`)
POST /v1/test/reset               remove all faults, and end the trouble of the disk
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from ..clock.http_act import move_clock
from ..faults.words import unknown_word
from ..http.http_error import HttpError
from ..http.request import HttpRequest
from ..http.response import HttpResponse
from ..http.router import Router
from .act_error import NotHereError
from .act_steps import STEPS
from .fault_words import fault_view, set_fault
from .kit import Kit
from .kit_requests import arguments, body_of, check_query, check_writer, fault_of, refusals_as_http, wish_of

__all__ = ["ACTS", "ELSEWHERE", "add_routes"]

ELSEWHERE = 409
"""The status of an act that another broker of the cluster can do."""

ACTS = (
    "apply_retention",
    "compact",
    "disk_fail",
    "disk_full",
    "disk_heal",
    "disk_slow",
    "expire_offsets",
    "expire_session",
    "fence",
    "leave_open",
    "move_coordinator",
    "move_leader",
    "pause",
)
_ENDS = ("stop", "kill")
_UNTIL_SENT_S = 0.05
"""The time for the response before the broker ends."""
_CREATED = 201


def add_routes(router: Router, kit: Kit) -> None:
    """Add the paths of the test kit. The kit must belong to the broker of the router."""
    paths = _Paths(kit)
    router.get("/v1/test/faults", paths.list_faults)
    router.write("POST", "/v1/test/faults", paths.set_fault)
    router.write("DELETE", "/v1/test/faults", paths.remove_all)
    router.get("/v1/test/faults/{id}", paths.show_fault)
    router.write("DELETE", "/v1/test/faults/{id}", paths.remove_fault)
    router.write("POST", "/v1/test/acts/{name}", paths.act)
    router.write("POST", "/v1/test/steps/{name}", paths.step)
    router.write("POST", "/v1/test/clock", paths.move_clock)
    router.write("POST", "/v1/test/reset", paths.reset)


class _Paths:
    """The handlers. Each refuses with one plain line."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit

    def list_faults(self, request: HttpRequest) -> HttpResponse:
        check_query(request)
        return HttpResponse.json({"faults": [fault_view(fault) for fault in self._kit.faults.all()]})

    def set_fault(self, request: HttpRequest) -> HttpResponse:
        body = body_of(request)
        try:
            fault = set_fault(self._kit.faults, body)
        except ValueError as error:
            raise HttpError(400, str(error)) from error
        return HttpResponse.json(fault_view(fault), _CREATED)

    def remove_all(self, request: HttpRequest) -> HttpResponse:
        check_writer(request)
        removed = len(self._kit.faults.all())
        self._kit.faults.clear()
        return HttpResponse.json({"removed": removed})

    async def show_fault(self, request: HttpRequest) -> HttpResponse:
        check_query(request, "fired", "timeout_ms")
        fault = fault_of(self._kit.faults.all(), request)
        wish = wish_of(request)
        if wish is not None:
            count, wait_s = wish
            try:
                await asyncio.wait_for(fault.until_fired(count), wait_s)
            except TimeoutError:
                raise HttpError(503, f"the fault has fired {fault.fired} times in {wait_s:g} s, not {count}") from None
        return HttpResponse.json(fault_view(fault))

    def remove_fault(self, request: HttpRequest) -> HttpResponse:
        check_writer(request)
        fault = fault_of(self._kit.faults.all(), request)
        fault.remove()
        return HttpResponse.json(fault_view(fault))

    async def act(self, request: HttpRequest) -> HttpResponse:
        name = request.params["name"]
        if name in _ENDS:
            return self._end(name, body_of(request))
        return await self._done(name, ACTS, body_of(request))

    async def step(self, request: HttpRequest) -> HttpResponse:
        return await self._done(request.params["name"], STEPS, body_of(request))

    async def _done(self, name: str, known: Sequence[str], body: Mapping[str, Any]) -> HttpResponse:
        if name not in known:
            raise HttpError(404, unknown_word("act", name, sorted({*known, *(_ENDS if known is ACTS else ())})))
        method = self._kit.act(name)
        with refusals_as_http():
            try:
                done = await method(**arguments(method, body))
            except NotHereError as error:
                raise HttpError(ELSEWHERE, str(error)) from error
        return HttpResponse.json({"act": name, "result": done})

    def _end(self, name: str, body: Mapping[str, Any]) -> HttpResponse:
        end = self._kit.end
        if body or end is None:
            raise HttpError(400, f"{name} takes nothing")
        asyncio.get_running_loop().call_later(_UNTIL_SENT_S, lambda: end(clean=name == "stop"))
        return HttpResponse.json({"act": name, "result": None})

    async def move_clock(self, request: HttpRequest) -> HttpResponse:
        body = body_of(request)
        with refusals_as_http():
            return HttpResponse.json(await move_clock(self._kit.clock, body))

    def reset(self, request: HttpRequest) -> HttpResponse:
        if body_of(request):
            raise HttpError(400, "reset takes nothing")
        self._kit.reset()
        return HttpResponse.json({"reset": True})
