"""Parts that all paths of the console share: settings, sessions, command lines, search threads."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ..protocol.errors import KafkaError
from .cli_lines import CliLines
from .cluster_views.v1_client import V1Client
from .cluster_views.v1_lists import V1Lists
from .http.replies import HttpProblem, error_reply, problem_of
from .records.masking import Masks
from .sessions import Session, Sessions
from .settings import ConsoleSettings

COOKIE = "pybroker_console"
MAX_STREAMS = {"search": (2, 4), "tail": (50, 64)}
"""Most searches and tails of a session, and of all sessions."""
MAX_SEARCHES_OF_ALL = 4

Handler: TypeAlias = Callable[[Request, Session], Awaitable[Response]]


class Console:
    """The parts of a running console."""

    def __init__(self, settings: ConsoleSettings) -> None:
        self.settings = settings
        self.masks = Masks(settings.masks)
        self.sessions = Sessions(settings.client, settings.needs_login, self.masks)
        self.cli = CliLines(
            settings.bootstrap, has_login=settings.client.security.sasl is not None or settings.needs_login
        )
        self.v1 = V1Client(settings.v1_urls, settings.v1_token, settings.v1_ca_file)
        self.v1_lists = V1Lists(self.v1)
        self.search_threads = ThreadPoolExecutor(MAX_SEARCHES_OF_ALL, thread_name_prefix="search")

    def close(self) -> None:
        """End all sessions."""
        self.sessions.close()
        self.v1_lists.close()
        self.search_threads.shutdown(wait=False, cancel_futures=True)

    def route(self, path: str, handler: Handler, method: str = "GET", *, writes: bool = False) -> Route:
        """A path for people who have logged in. `writes`: it changes the cluster, which must be allowed."""

        async def answer(request: Request) -> Response:
            session = self.session_of(request)
            if session is None:
                raise HttpProblem(401, "log in first")
            if writes and not self.settings.allow_writes:
                raise HttpProblem(403, "the console is read-only; start it with --allow-writes")
            if self.v1.wants_cluster_id:
                await self._tell_cluster_id(session)
            try:
                return await handler(request, session)
            finally:
                if writes:
                    session.facts.forget()

        return Route(path, answered(answer), methods=[method])

    def session_of(self, request: Request) -> Session | None:
        """The session of a request, by its cookie."""
        return self.sessions.find(request.cookies.get(COOKIE))

    async def _tell_cluster_id(self, session: Session) -> None:
        """Tell `v1` which cluster Kafka's protocol shows. If no broker answers, the next request tries again."""
        with suppress(OSError, KafkaError):
            self.v1.set_cluster_id((await session.cluster.metadata([])).cluster_id)

    def check_records_shown(self) -> None:
        """Raises HttpProblem with --hide-records."""
        if self.settings.hide_records:
            raise HttpProblem(403, "the console was started with --hide-records")

    @contextmanager
    def stream(self, session: Session, kind: str) -> Iterator[None]:
        """Counts a search or a tail. Raises HttpProblem when there are too many."""
        most, most_of_all = MAX_STREAMS[kind]
        if session.streams[kind] >= most or self.sessions.streams(kind) >= most_of_all:
            raise HttpProblem(429, f"too many at once: {most} of a session, {most_of_all} of all are allowed")
        session.streams[kind] += 1
        try:
            yield
        finally:
            session.streams[kind] -= 1

    def source(self, brokers: int) -> dict[str, Any]:
        """Where a view comes from. `brokers`: how many pybrokers told a part of it."""
        return {
            "api": 1,
            "broker_id": None,
            "cluster_id": self.v1.cluster_id,
            "time_ms": time.time_ns() // 1_000_000,
            "kind": "v1" if brokers else "kafka",
            "brokers": brokers,
        }


def answered(answer: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
    """Returns the handler with its errors as replies. Bugs are raised on."""

    async def safely(request: Request) -> Response:
        try:
            return await answer(request)
        except Exception as error:
            problem = problem_of(error)
            if problem is None:
                raise
            return error_reply(problem)

    return safely
