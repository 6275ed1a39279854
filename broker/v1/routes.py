"""Adds the routes of /v1. The rest of this folder is imported when the first request comes."""

from functools import partial
from typing import TYPE_CHECKING

from ...config.http_listeners import TEST_KIT
from ..http.http_error import HttpError
from ..http.request import HttpRequest
from ..http.response import HttpResponse
from ..http.router import Router
from .known_state import KnownState

if TYPE_CHECKING:
    from .answers import Answers

__all__ = ["PATHS", "V1Routes"]

PATHS = (
    "/v1",
    "/v1/cluster",
    "/v1/history",
    "/v1/brokers",
    "/v1/brokers/{id}",
    "/v1/partitions",
    "/v1/topics",
    "/v1/topics/{topic}",
    "/v1/groups",
    "/v1/groups/{group}",
    "/v1/groups/{group}/timeline",
    "/v1/clients",
    "/v1/requests/slow",
    "/v1/events",
    "/v1/transactions",
    "/v1/configs",
    "/v1/explain/acl",
)
"""The paths in `views/resources.py`."""


class V1Routes:
    """``state`` is None until the broker can serve clients: requests are refused until then."""

    def __init__(self, router: Router) -> None:
        self.state: KnownState | None = None
        self._answers: Answers | None = None
        for path in PATHS:
            router.get(path, partial(self._answer, path))
        router.get("/v1/openapi.json", self._openapi)

    async def _answer(self, path: str, request: HttpRequest) -> HttpResponse:
        state = self._state()
        if self._answers is None:
            new_answers: type[Answers] = await state.parts.run_in_pool(_load_answers)
            self._answers = self._answers or new_answers(state)
        return await self._answers.answer(path, request)

    async def _openapi(self, _: HttpRequest) -> HttpResponse:
        parts = self._state().parts
        text: str = await parts.run_in_pool(partial(_openapi_text, parts.config.boolean(TEST_KIT)))
        return HttpResponse(200, text.encode())

    def _state(self) -> KnownState:
        if self.state is None:
            raise HttpError(503, "the broker is starting")
        return self.state


def _load_answers() -> "type[Answers]":
    from .answers import Answers

    return Answers


def _openapi_text(has_test_kit: bool) -> str:
    from ...views.openapi import openapi_text

    return openapi_text(has_test_kit=has_test_kit)
